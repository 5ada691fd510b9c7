//! A Bloom filter of fixed size: what was put in is found, and what was not is found by chance only. Written here because
//! its fill has to be known to the bit, and its entries are probed more or less often, by what depends on them.

/// 64 MiB.
pub(super) const BYTES: usize = 64 << 20;

/// Bits of a block, all in one line of the processor's cache, so that an entry costs one look into memory.
const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;

/// A set of hashes.
pub(super) struct Filter {
    blocks: Vec<[u64; WORDS]>,
    ones: usize,
}

impl Filter {
    /// An empty one. Memory is taken as it fills.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            blocks: vec![[0; WORDS]; (bytes * 8 / BLOCK).max(1)],
            ones: 0,
        }
    }

    /// Sets as many bits as there are probes.
    pub(super) fn insert(&mut self, hash: u64, probes: u32) {
        let (block, bits) = self.place(hash, probes);
        for bit in bits {
            let word = &mut self.blocks[block][bit / 64];
            let mask = 1 << (bit % 64);
            self.ones += usize::from(*word & mask == 0);
            *word |= mask;
        }
    }

    /// True if all bits of an entry are set.
    pub(super) fn contains(&self, hash: u64, probes: u32) -> bool {
        let (block, mut bits) = self.place(hash, probes);
        bits.all(|bit| self.blocks[block][bit / 64] & (1 << (bit % 64)) != 0)
    }

    /// True if more than half of the bits are set. Beyond that a probe says less than one bit.
    pub(super) fn is_full(&self) -> bool {
        self.ones * 2 > self.blocks.len() * BLOCK
    }

    /// The percentage of bits that are set.
    pub(super) fn percent(&self) -> usize {
        self.ones * 100 / (self.blocks.len() * BLOCK)
    }

    fn place(&self, hash: u64, probes: u32) -> (usize, impl Iterator<Item = usize> + use<>) {
        let blocks = self.blocks.len() as u64;
        let block = mixed(hash) % blocks;
        // Each probe takes nine bits, and a number has room for seven.
        let numbers = (0..probes.div_ceil(7)).map(move |n| mixed(hash ^ SALT.rotate_left(n)));
        let bits = numbers.flat_map(|number| (0..7).map(move |probe| number >> (9 * probe)));
        let bits = bits.take(index(u64::from(probes)));
        (index(block), bits.map(|bits| index(bits) % BLOCK))
    }
}

const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The last steps of SplitMix64: every bit of the input reaches every bit of the output.
pub(super) fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "of a mixed number any part will do, and all others are small"
)]
fn index(number: u64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_and_nothing_else_is() {
        let mut filter = Filter::new(1 << 16);
        (0..10_000).for_each(|hash| filter.insert(hash, 13));
        assert!((0..10_000).all(|hash| filter.contains(hash, 13)));
        let wrong = (10_000..110_000).filter(|hash| filter.contains(*hash, 13));
        assert!(wrong.count() < 20, "a fill of a quarter");
        assert_eq!((filter.percent(), filter.is_full()), (21, false));
    }

    #[test]
    fn the_same_entry_takes_no_more_room() {
        let mut filter = Filter::new(1 << 10);
        (0..100_000).for_each(|_| filter.insert(7, 16));
        assert!(filter.ones <= 16);
    }

    #[test]
    fn one_that_is_half_full_says_so() {
        let mut filter = Filter::new(1 << 10);
        let mut entries = 0;
        while !filter.is_full() {
            filter.insert(entries, 8);
            entries += 1;
        }
        assert!((600..800).contains(&entries), "{entries}");
    }
}
