//! Serves one file to one page of another origin, over HTTP on this machine.
//!
//! # Design
//!
//! Any page that is open in a browser can send requests to this port. So only the file's exact path is
//! answered, only to the UI's origin, and only if the request names this machine by its address: a page whose
//! name was made to point here (DNS rebinding) names itself. A refused request gets no header that lets a
//! page read the answer. The request is a line and some headers, which the standard library reads as well as
//! a server's crate. Such a crate would need an executor and a hundred thousand lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use anyhow::Context;

/// The origin that may have the file.
const ORIGIN: &str = "https://ui.perfetto.dev";

/// A browser's request has some hundred bytes.
const LONGEST_REQUEST: u64 = 16 << 10;

/// The time to wait for a silent client, and the longer time for a client that reads nothing.
const PATIENCE: Duration = Duration::from_secs(10);
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// A file that is served.
pub struct Served {
    file: File,
    size: u64,
    path: String,
    host: String,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    File,
    Refused(&'static str),
}

impl Served {
    /// A file, under a name that needs no quoting.
    pub fn new(file: File, name: &str, port: u16) -> anyhow::Result<Served> {
        let size = file.metadata().context("cannot read the trace that was written")?.len();
        Ok(Served { file, size, path: format!("/{name}"), host: format!("127.0.0.1:{port}") })
    }

    /// Answers requests, until the whole file was fetched, or forever.
    pub fn serve(mut self, listener: &TcpListener, keeps: bool) -> anyhow::Result<()> {
        loop {
            let (mut stream, _) = listener.accept().context("cannot accept a connection")?;
            // A client that breaks off may come again.
            let is_fetched = self.answer(&mut stream).unwrap_or(false);
            if is_fetched && !keeps {
                return Ok(());
            }
        }
    }

    /// Answers one request, and returns whether all of the file was sent.
    fn answer(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(LONG_PATIENCE))?;
        let answer = self.decide(BufReader::new((&mut *stream).take(LONGEST_REQUEST)))?;
        match answer {
            Answer::Refused(status) => {
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )?;
                stream.flush()?;
                // An unread rest of the request would make the system discard the answer.
                stream.shutdown(std::net::Shutdown::Write)?;
                io::copy(&mut stream.take(LONGEST_REQUEST), &mut io::sink())?;
                Ok(false)
            }
            Answer::File => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\
                     Access-Control-Allow-Origin: {ORIGIN}\r\nVary: Origin\r\nCache-Control: no-store\r\n\
                     X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                    self.size
                )?;
                self.file.rewind()?;
                let sent = io::copy(&mut (&self.file).take(self.size), stream)?;
                stream.flush()?;
                // When the other side has also closed, everything has arrived.
                stream.shutdown(std::net::Shutdown::Write)?;
                match io::copy(&mut stream.take(LONGEST_REQUEST), &mut io::sink()) {
                    Err(error) if !is_timeout(&error) => Err(error),
                    // The other side may still read the bytes that were sent.
                    _ => Ok(sent == self.size),
                }
            }
        }
    }

    fn decide(&self, mut request: impl BufRead) -> io::Result<Answer> {
        const BAD: Answer = Answer::Refused("400 Bad Request");
        const FORBIDDEN: Answer = Answer::Refused("403 Forbidden");
        let mut line = String::new();
        request.read_line(&mut line)?;
        let mut words = line.trim_end().split(' ');
        let (Some(method), Some(path), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Ok(BAD);
        };
        let (mut hosts, mut origins) = (Vec::new(), Vec::new());
        loop {
            let mut header = String::new();
            if request.read_line(&mut header)? == 0 {
                return Ok(BAD); // It ends before its headers do, or has too many.
            }
            let header = header.trim_end();
            if header.is_empty() {
                break;
            }
            let Some((name, value)) = header.split_once(':') else {
                return Ok(BAD);
            };
            let of = match name.to_ascii_lowercase().as_str() {
                "host" => &mut hosts,
                "origin" => &mut origins,
                _ => continue,
            };
            of.push(value.trim().to_owned());
        }
        if hosts != [self.host.as_str()] || origins != [ORIGIN] {
            return Ok(FORBIDDEN);
        }
        Ok(match (method, path) {
            ("GET", path) if path == self.path => Answer::File,
            ("GET", _) => Answer::Refused("404 Not Found"),
            _ => Answer::Refused("405 Method Not Allowed"),
        })
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::thread;

    /// A server of a file with these bytes, which ends after the file was fetched; and its port.
    fn serving(bytes: &[u8]) -> (u16, thread::JoinHandle<anyhow::Result<()>>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Served::new(file, "t.pftrace", port).unwrap();
        (port, thread::spawn(move || served.serve(&listener, false)))
    }

    fn ask(port: u16, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // This fails if the server has answered and is gone already.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn request(first: &str, host: &str, origin: &str) -> String {
        format!("{first} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nAccept: */*\r\n\r\n")
    }

    #[test]
    fn the_ui_gets_the_file_and_others_get_nothing() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        let (port, server) = serving(&bytes);
        let host = format!("127.0.0.1:{port}");
        let get = "GET /t.pftrace";
        for (request, status) in [
            (request(get, &host, "https://evil.example"), "403"),
            (request(get, &host, "https://ui.perfetto.dev.evil.example"), "403"),
            (request(get, &host, "http://ui.perfetto.dev"), "403"),
            (request(get, "ui.perfetto.dev", ORIGIN), "403"),
            (request(get, &format!("localhost:{port}"), ORIGIN), "403"),
            (format!("GET /t.pftrace HTTP/1.1\r\nHost: {host}\r\n\r\n"), "403"),
            (
                format!(
                    "GET /t.pftrace HTTP/1.1\r\nHost: {host}\r\nHost: a\r\nOrigin: {ORIGIN}\r\n\r\n"
                ),
                "403",
            ),
            (request("GET /", &host, ORIGIN), "404"),
            (request("GET /../t.pftrace", &host, ORIGIN), "404"),
            (request("GET http://a/t.pftrace", &host, ORIGIN), "404"),
            (request("POST /t.pftrace", &host, ORIGIN), "405"),
            (request("OPTIONS /t.pftrace", &host, ORIGIN), "405"),
            ("GET /t.pftrace\r\n\r\n".to_owned(), "400"),
            ("\u{1}\u{2}\r\n".to_owned(), "400"),
            (format!("{get} HTTP/1.1\r\nHost: {host}\r\n"), "400"),
            (format!("{get} HTTP/1.1\r\n{}", "a: b\r\n".repeat(10_000)), "400"),
        ] {
            let answer = ask(port, &request);
            let text = String::from_utf8_lossy(&answer);
            let is_cut = answer.is_empty() && request.len() > 16 << 10;
            assert!(is_cut || text.starts_with(&format!("HTTP/1.1 {status}")), "{request} {text}");
            assert!(!text.contains("Access-Control"), "{request} {text}");
        }
        let answer = ask(port, &request(get, &host, ORIGIN));
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let (head, body) = answer.split_at(end + 4);
        let head = String::from_utf8_lossy(head);
        assert!(
            head.contains("Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"),
            "{head}"
        );
        assert!(head.contains("Content-Length: 100000\r\n"), "{head}");
        assert_eq!(body, bytes);
        server.join().unwrap().unwrap();
    }

    #[test]
    fn who_breaks_off_may_come_again() {
        let bytes = vec![7; 20 << 20];
        let (port, server) = serving(&bytes);
        let request = request("GET /t.pftrace", &format!("127.0.0.1:{port}"), ORIGIN);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
        drop(stream);
        assert!(ask(port, &request).ends_with(&bytes));
        server.join().unwrap().unwrap();
    }
}
