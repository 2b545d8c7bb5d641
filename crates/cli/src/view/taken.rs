//! Finds the program that already listens on a port.

/// The message that the port is in use, by which program if the system tells it, and what to do.
pub fn told(port: u16) -> String {
    let by = holder(port).unwrap_or_else(|| "another program".to_owned());
    format!(
        "port {port} is in use by {by}. Perfetto's UI can fetch from this port only; end that program \
         ('trace_processor --httpd' and another 'timebase view' use this port, too)"
    )
}

/// The program that listens on a port of this machine.
#[cfg(target_os = "linux")]
fn holder(port: u16) -> Option<String> {
    use std::ffi::OsStr;
    use std::fs;
    use std::path::PathBuf;

    /// The state of a socket that listens.
    const LISTENS: &str = "0A";

    let sockets = fs::read_to_string("/proc/net/tcp").ok()?;
    let inode = sockets.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (_, local) = words.next()?.split_once(':')?;
        let is_it = u16::from_str_radix(local, 16) == Ok(port) && words.nth(1)? == LISTENS;
        is_it.then(|| words.nth(5)).flatten()
    })?;
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    // Directories with numbers are processes; `self` is a second name of one.
    let is_process = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let mut processes = processes.map(|process| process.path()).filter(is_process);
    processes.find_map(|process| {
        let mut files = fs::read_dir(process.join("fd")).ok()?.flatten();
        let is_open = files.any(|file| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == socket.as_str())
        });
        let name = is_open.then(|| fs::read_to_string(process.join("comm")).ok())??;
        let id = process.file_name()?.to_string_lossy().into_owned();
        Some(format!("{} (process {id})", name.trim_end()))
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_port: u16) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_program_that_has_the_port_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let told = told(listener.local_addr().unwrap().port());
        assert!(told.contains(&format!("(process {})", std::process::id())), "{told}");
    }
}
