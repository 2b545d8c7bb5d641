//! Standard input whose writer marks the end.

use std::io::{self, ErrorKind, Read};

/// Input in pieces. Each piece follows its size in four bytes, the lowest first; a piece of no
/// bytes is the end. Without this end, the writer was interrupted.
pub(crate) struct Pieces<R> {
    reader: R,
    /// The rest of the current piece; `None` after the end.
    left: Option<u32>,
}

impl<R: Read> Pieces<R> {
    pub fn new(reader: R) -> Pieces<R> {
        let left = Some(0);
        Pieces { reader, left }
    }
}

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(mut left) = self.left else {
            return Ok(0);
        };
        if buf.is_empty() {
            return Ok(0);
        }
        if left == 0 {
            let mut size = [0; 4];
            self.reader.read_exact(&mut size).map_err(cut)?;
            left = u32::from_le_bytes(size);
            if left == 0 {
                self.left = None;
                return Ok(0);
            }
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        let part = buf.get_mut(..most).unwrap_or_default();
        // This comes before reading, which may be interrupted and tried again.
        self.left = Some(left);
        let size = self.reader.read(part)?;
        if size == 0 {
            return Err(cut(ErrorKind::UnexpectedEof.into()));
        }
        self.left = Some(left.saturating_sub(u32::try_from(size).unwrap_or(u32::MAX)));
        Ok(size)
    }
}

fn cut(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::new(
            ErrorKind::UnexpectedEof,
            "the program that writes it ended before the trace did",
        ),
        _ => error,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let mut out = Vec::new();
        let result = Pieces::new(bytes).read_to_end(&mut out);
        (out, result)
    }

    #[test]
    fn pieces_are_one_stream_up_to_the_empty_one() {
        let whole = [&[2, 0, 0, 0][..], b"ab", &[1, 0, 0, 0], b"c", &[0; 4], b"more"].concat();
        let (bytes, result) = read(&whole);
        assert_eq!((&bytes[..], result.unwrap()), (&b"abc"[..], 3));
        for cut in 0..whole.len() - 4 {
            let (bytes, result) = read(&whole[..cut]);
            assert!(b"abc".starts_with(&bytes[..]));
            assert_eq!(result.unwrap_err().kind(), ErrorKind::UnexpectedEof, "{cut}");
        }
    }
}
