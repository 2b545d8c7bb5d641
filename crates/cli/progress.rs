//! A progress bar on standard error, if that is a terminal.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use timebase_import::Monitor;

/// How often the bar is drawn: fast enough to look alive.
const PERIOD: Duration = Duration::from_millis(100);

/// Does `work` while another thread shows what `monitor` says about it.
/// `size` is how many bytes there are to read, if that is known.
pub fn shown<T>(
    monitor: &Arc<Monitor>,
    size: Option<u64>,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    if !io::stderr().is_terminal() {
        return Ok(work());
    }
    let bar = match size {
        Some(size) => ProgressBar::new(size).with_style(style(
            "{wide_bar:.cyan/dim} {percent} %  {bytes} of {total_bytes}, {bytes_per_sec}, \
             {msg} packets, {eta} left",
        )?),
        None => ProgressBar::no_length().with_style(style(
            "{spinner} {bytes}, {bytes_per_sec}, {msg} packets, {elapsed}",
        )?),
    };
    let finishing = style("{spinner} {msg} packets read, writing indexes, {elapsed}")?;

    let (stop, stopped) = mpsc::channel::<()>();
    let drawer = thread::spawn({
        let monitor = Arc::clone(monitor);
        move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let read = monitor.bytes_read.load(Ordering::Relaxed);
                let packets = monitor.packets.load(Ordering::Relaxed);
                if size.is_some_and(|size| read >= size) {
                    bar.set_style(finishing.clone());
                }
                bar.set_message(HumanCount(packets).to_string());
                bar.set_position(read);
                bar.tick();
            }
            bar.finish_and_clear();
        }
    });
    let result = work();
    drop(stop);
    // The bar has to be gone before anything else is written.
    let _ = drawer.join();
    Ok(result)
}

fn style(template: &str) -> anyhow::Result<ProgressStyle> {
    ProgressStyle::with_template(template).context("cannot draw a progress bar")
}
