//! SHA-256 as this crate uses it: over canonical records and over text whose line endings do not count.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of a text file's bytes, with CRLF read as LF: a checkout's line endings change nothing.
    pub fn of_text(bytes: &[u8]) -> Self {
        Digest::of_bytes(&lf(bytes))
    }

    /// The raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A word that is no SHA-256 in 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedDigest;

impl fmt::Display for MalformedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a SHA-256 in 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for MalformedDigest {}

impl FromStr for Digest {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, MalformedDigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(MalformedDigest),
        };
        let mut digest = [0; 32];
        if text.len() != 2 * digest.len() {
            return Err(MalformedDigest);
        }
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Digest(digest))
    }
}

/// The key of a kernel for one architecture: SHA-256 over contract and evidence (see [`crate::key`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecKey(Digest);

impl SpecKey {
    /// The key that a digest stands for.
    pub fn from_digest(digest: Digest) -> Self {
        SpecKey(digest)
    }

    /// The digest behind the key.
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for SpecKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SpecKey {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, MalformedDigest> {
        text.parse().map(SpecKey)
    }
}

/// Bytes with every CRLF made LF.
pub(crate) fn lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.windows(2).any(|pair| pair == b"\r\n") {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            out.push(byte);
        }
    }
    Cow::Owned(out)
}

/// A hash over a sequence of fields, each preceded by its length: no two sequences share their bytes.
pub(crate) struct Record(Sha256);

impl Record {
    pub(crate) fn new(tag: &str) -> Self {
        Record(Sha256::new()).field(tag.as_bytes())
    }

    /// Adds `<length in decimal>:<bytes>`.
    pub(crate) fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes.len().to_string().as_bytes());
        self.0.update(b":");
        self.0.update(bytes);
        self
    }

    pub(crate) fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of_bytes(b"").to_string(), hex);
        assert_eq!(hex.parse(), Ok(Digest::of_bytes(b"")));
        assert_eq!(hex.to_uppercase().parse::<Digest>(), Err(MalformedDigest));
        assert_eq!(hex[1..].parse::<Digest>(), Err(MalformedDigest));
    }

    #[test]
    fn only_crlf_is_read_as_lf() {
        assert_eq!(&*lf(b"a\r\nb\rc\r\r\n"), b"a\nb\rc\r\n");
    }

    proptest! {
        #[test]
        fn line_endings_do_not_change_a_text_digest(text in "[a-z \n]{0,40}") {
            let crlf = text.replace('\n', "\r\n");
            prop_assert_eq!(Digest::of_text(text.as_bytes()), Digest::of_text(crlf.as_bytes()));
        }

        #[test]
        fn fields_do_not_run_into_each_other(fields in prop::collection::vec("[0-9:a]{0,3}", 0..4), other in prop::collection::vec("[0-9:a]{0,3}", 0..4)) {
            let digest = |fields: &[String]| fields.iter().fold(Record::new("t"), |record, field| record.field(field.as_bytes())).digest();
            prop_assert_eq!(digest(&fields) == digest(&other), fields == other);
        }
    }
}
