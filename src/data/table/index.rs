//! The position of a text in a list, by its hash: a table of numbers only. It takes a fraction of the memory of a map with
//! the texts as keys, and no text is looked at again when it grows or when two are joined.

/// The places of texts that a caller keeps in a list.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Places, each at or behind the slot that its hash names; a power of two of them, at most half of them taken.
    slots: Vec<u32>,
    /// `[texts]`.
    hashes: Vec<u64>,
}

const FREE: u32 = u32::MAX;

impl Index {
    /// The place of a text; `None` where it is new, and then it has the next place. `is_it` says whether the text at a
    /// place is this one.
    #[inline]
    pub fn place(&mut self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<u32> {
        if (self.hashes.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at] != FREE {
            let place = self.slots[at];
            if self.hashes[place as usize] == hash && is_it(place as usize) {
                return Some(place);
            }
            at = (at + 1) & last;
        }
        self.slots[at] = self.hashes.len() as u32;
        self.hashes.push(hash);
        None
    }

    fn grow(&mut self) {
        let n_slots = ((self.hashes.len() + 1) * 4).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(n_slots, FREE);
        for (place, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize & (n_slots - 1);
            while self.slots[at] != FREE {
                at = (at + 1) & (n_slots - 1);
            }
            self.slots[at] = place as u32;
        }
    }

    /// `[texts]`: their hashes, when no more will be looked for.
    pub fn into_hashes(self) -> Vec<u64> {
        self.hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that are all alike, or alike in their last bits, cost time and no more.
    #[test]
    fn texts_have_the_place_at_which_they_first_came() {
        for hash in [|i: u64| i, |_| 7, |i: u64| i << 32, |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)] {
            let (mut index, mut texts) = (Index::default(), Vec::new());
            for round in 0..2 {
                for i in 0..500u64 {
                    let text = i.to_string();
                    let place = index.place(hash(i), |at| texts[at] == text);
                    assert_eq!(place, (round == 1).then_some(i as u32));
                    if place.is_none() {
                        texts.push(text);
                    }
                }
            }
            assert_eq!(index.into_hashes(), (0..500).map(hash).collect::<Vec<_>>());
        }
    }
}
