//! Chance that can be had again: the same seed, the same numbers.

/// Numbers by `splitmix64`.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Others, which depend on these but not on when they are thrown.
    pub fn child(&self, number: u64) -> Self {
        let mut child = Self(self.0 ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Self(child.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        (self.next() % sides as u64) as usize
    }

    /// True so many times in a thousand.
    pub fn hits(&mut self, per_mille: usize) -> bool {
        self.roll(1000) < per_mille
    }
}
