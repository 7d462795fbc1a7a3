//! Choices read from bytes: how a fuzzer or a property test steers a simulation.

/// A source of choices. When the bytes are used up every further choice is the first one, so a short
/// input is a calm story and not an error.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number below `limit`; 0 when the bytes are used up.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.next().unwrap_or(0)) % limit.max(1)
    }

    /// False when the bytes are used up.
    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

impl Iterator for Bytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }
}
