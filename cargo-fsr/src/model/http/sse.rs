//! Event streams (HTML standard, 9.2.6), as far as models speak them: the data of each event.
//!
//! Own code because its work must grow with the length of a stream and not with its square: the crates at hand look
//! at an unfinished line anew with every piece, and a hostile server sends one without an end.

/// Takes a stream apart, in whatever pieces it comes.
#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_cr: bool,
    limit: usize,
}

/// An event longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// `limit`: bytes of one event.
    pub fn new(limit: usize) -> Self {
        Self { line: Vec::new(), data: None, after_cr: false, limit }
    }

    /// The data of the events that a piece completes; bytes that are no UTF-8 are replaced.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut done = Vec::new();
        for part in piece.split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
            // The second half of CR LF, perhaps in another piece.
            if std::mem::take(&mut self.after_cr) && part == b"\n" {
                continue;
            }
            let (text, ended) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                Some((b'\r', text)) => {
                    self.after_cr = true;
                    (text, true)
                }
                _ => (part, false),
            };
            if self.line.len() + text.len() + self.data.as_ref().map_or(0, Vec::len) > self.limit {
                return Err(TooLong);
            }
            self.line.extend_from_slice(text);
            if ended {
                done.extend(self.end_of_line());
            }
        }
        Ok(done)
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take().map(|data| String::from_utf8_lossy(&data).into_owned());
        }
        let value = match line.strip_prefix(b"data:") {
            Some(value) => value.strip_prefix(b" ").unwrap_or(value),
            None if line == b"data" => b"",
            // Comments, names, ids: the data says all that is needed.
            None => return None,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], size: usize) -> Vec<String> {
        let mut events = Events::new(1 << 20);
        text.chunks(size.max(1)).flat_map(|piece| events.push(piece).unwrap()).collect()
    }

    #[test]
    fn the_data_of_each_event_comes_out() {
        let text =
            ": hello\r\nevent: x\r\ndata: one\r\ndata:two\r\n\r\nid: 1\n\ndata\n\ndata:  three\r\rdata: cut";
        for size in 1..text.len() {
            assert_eq!(read(text.as_bytes(), size), ["one\ntwo", "", " three"], "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut events = Events::new(1000);
        assert!((0..20).any(|_| events.push(&[b'x'; 100]) == Err(TooLong)));
        let mut events = Events::new(1000);
        assert!((0..40).any(
            |_| events.push(&b"data: 67890123456789012345678901234567890123456789\n"[..]) == Err(TooLong)
        ));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "(data: ?[a-zé]{0,4}|[\r\n]|:x|event: y){0,20}", size in 1usize..9) {
            prop_assert_eq!(read(text.as_bytes(), size), read(text.as_bytes(), usize::MAX));
        }
    }
}
