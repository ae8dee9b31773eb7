//! Counter-based randomness (MATH.md section 8): Philox4x32-10, the same integers here and in
//! `shaders/common/rng.wgsl`. A number depends on (seed, stream, step, element, replica) and on nothing else: not on
//! thread count, batch order or what was drawn before, so a resumed run draws the same numbers as an uninterrupted one.
//! What is drawn around a network and not in it has a generator of its own, `SplitMix64`.

/// One independent sequence for every use. The discriminants are part of the file format: a checkpoint resumes with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stream {
    Init = 1,
    Order = 2,
    Head = 3,
    Aux = 4,
    Weights = 5,
    Predict = 6,
    Prior = 7,
    Augment = 8,
    /// The experiments of `vifo theory`.
    Theory = 32,
    /// Dropout of layer l draws from `Dropout as u32 + l`.
    Dropout = 64,
}

const M0: u32 = 0xD251_1F53;
const M1: u32 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// Philox4x32-10 (Salmon et al. 2011).
#[inline(always)]
pub fn philox(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = c[0] as u64 * M0 as u64;
        let p1 = c[2] as u64 * M1 as u64;
        c = [(p1 >> 32) as u32 ^ c[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(W0), key[1].wrapping_add(W1)];
    }
    c
}

/// Where a sequence of numbers is drawn from; `element` counts single numbers, four to a Philox block.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    pub seed: u32,
    pub stream: u32,
    pub step: u32,
    pub replica: u32,
}

impl Draw {
    #[inline(always)]
    pub fn block(&self, block: u32) -> [u32; 4] {
        philox([self.step, block, self.replica, 0], [self.seed, self.stream])
    }

    /// N blocks from `first` on, word by word: numbers 4 i .. 4 i + 4 of them are `[0][i], [1][i], [2][i], [3][i]`. In this form
    /// the compiler makes vector code of it.
    #[inline(always)]
    pub fn blocks<const N: usize>(&self, first: u32) -> [[u32; N]; 4] {
        let (mut c0, mut c1, mut c2, mut c3) = ([self.step; N], [0u32; N], [self.replica; N], [0u32; N]);
        for (i, c1) in c1.iter_mut().enumerate() {
            *c1 = first.wrapping_add(i as u32);
        }
        let (mut k0, mut k1) = (self.seed, self.stream);
        for _ in 0..10 {
            for i in 0..N {
                // The low half from a product of its own: taken from the wide one, it would have to be picked out lane by lane.
                let (high0, low0) = (((c0[i] as u64 * M0 as u64) >> 32) as u32, c0[i].wrapping_mul(M0));
                let (high1, low1) = (((c2[i] as u64 * M1 as u64) >> 32) as u32, c2[i].wrapping_mul(M1));
                (c0[i], c1[i], c2[i], c3[i]) = (high1 ^ c1[i] ^ k0, low1, high0 ^ c3[i] ^ k1, low0);
            }
            k0 = k0.wrapping_add(W0);
            k1 = k1.wrapping_add(W1);
        }
        [c0, c1, c2, c3]
    }

    /// Uniform on [0, 1) with 24 bits.
    #[inline(always)]
    pub fn uniform(&self, element: u32) -> f32 {
        unit(self.block(element / 4)[(element % 4) as usize])
    }

    #[inline(always)]
    pub fn normal(&self, element: u32) -> f32 {
        normals(self.block(element / 4))[(element % 4) as usize]
    }

    /// Standard normals of elements `first .. first + out.len()`. Whole blocks go through 16 at a time, in a form the
    /// compiler turns into vector code: one normal costs about a nanosecond and a half.
    #[inline(always)]
    pub fn fill_normal(&self, first: u32, out: &mut [f32]) {
        const BLOCKS: usize = 16;
        let end = first + out.len() as u32;
        let mut block = first / 4;
        while block * 4 < end {
            let lanes = normals_of_blocks::<BLOCKS>(self, block);
            let start = block * 4;
            let low = start.max(first);
            let high = (start + 4 * BLOCKS as u32).min(end);
            out[(low - first) as usize..(high - first) as usize]
                .copy_from_slice(&lanes.as_flattened()[(low - start) as usize..(high - start) as usize]);
            block += BLOCKS as u32;
        }
    }
}

#[inline(always)]
pub fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Uniform strictly inside (0, 1), so that its logarithm is finite.
#[inline(always)]
fn open_unit(bits: u32) -> f32 {
    ((bits >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0)
}

/// Four standard normals from one block, by Box-Muller on (w0, w1) and (w2, w3).
#[inline(always)]
pub fn normals(w: [u32; 4]) -> [f32; 4] {
    let (a, b) = box_muller(w[0], w[1]);
    let (c, d) = box_muller(w[2], w[3]);
    [a, b, c, d]
}

#[inline(always)]
fn box_muller(w0: u32, w1: u32) -> (f32, f32) {
    let r = (-2.0 * ln_unit(open_unit(w0))).max(0.0).sqrt();
    let (s, c) = sin_cos_turns(unit(w1));
    (r * c, r * s)
}

#[inline(always)]
fn normals_of_blocks<const N: usize>(draw: &Draw, first_block: u32) -> [[f32; 4]; N] {
    let [c0, c1, c2, c3] = draw.blocks::<N>(first_block);
    let mut n = [[0f32; N]; 4];
    for i in 0..N {
        (n[0][i], n[1][i]) = box_muller(c0[i], c1[i]);
    }
    for i in 0..N {
        (n[2][i], n[3][i]) = box_muller(c2[i], c3[i]);
    }
    // By pairs: 64 bits are put together in vectors, four times 32 would be one number after another.
    let (mut first, mut second) = ([0u64; N], [0u64; N]);
    for i in 0..N {
        first[i] = n[0][i].to_bits() as u64 | (n[1][i].to_bits() as u64) << 32;
        second[i] = n[2][i].to_bits() as u64 | (n[3][i].to_bits() as u64) << 32;
    }
    let mut out = [[0f32; 4]; N];
    for i in 0..N {
        out[i] = [first[i], first[i] >> 32, second[i], second[i] >> 32].map(|bits| f32::from_bits(bits as u32));
    }
    out
}

/// Natural logarithm on (0, 1): exponent and mantissa apart, then the atanh series. Written out, as in the shader,
/// because adapters' own `log` differs by ulps and the vector form needs no call.
#[inline(always)]
fn ln_unit(u: f32) -> f32 {
    let bits = u.to_bits().wrapping_sub(0x3F35_04F3); // sqrt(1/2): mantissa in [0.707, 1.414)
    let e = (bits as i32) >> 23;
    let m = f32::from_bits((bits & 0x007F_FFFF).wrapping_add(0x3F35_04F3));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    // 2 (s + s^3/3 + s^5/5 + s^7/7 + s^9/9), |s| <= 0.1716: the next term is below 1e-9.
    let series = s * (2.0 + s2 * (2.0 / 3.0 + s2 * (0.4 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0)))));
    e as f32 * std::f32::consts::LN_2 + series
}

/// sin and cos of t turns, t in [0, 1): nearest quarter turn, then Taylor on |x| <= pi/4.
#[inline(always)]
fn sin_cos_turns(t: f32) -> (f32, f32) {
    // 0..=4, truncation is the floor here. `as` would look for numbers that do not fit, one lane after another.
    // SAFETY: t is in [0, 1), so the sum is in [0.5, 4.5].
    let q = unsafe { (4.0 * t + 0.5).to_int_unchecked::<i32>() };
    let x = (t - q as f32 * 0.25) * std::f32::consts::TAU;
    let x2 = x * x;
    let s = x * (1.0 + x2 * (-1.0 / 6.0 + x2 * (1.0 / 120.0 + x2 * (-1.0 / 5040.0))));
    let c = 1.0 + x2 * (-0.5 + x2 * (1.0 / 24.0 + x2 * (-1.0 / 720.0 + x2 * (1.0 / 40320.0))));
    let swap = q & 1 != 0;
    let (ss, cc) = if swap { (c, s) } else { (s, c) };
    let sin = if q & 2 != 0 { -ss } else { ss };
    let cos = if (q + 1) & 2 != 0 { -cc } else { cc };
    (sin, cos)
}

/// A keyed permutation of 0..n, evaluated one element at a time: the row order of an epoch needs no memory and no upload.
/// Six Feistel rounds on the smallest even power of two that holds n, walked until the result falls below n.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    keys: [u32; 4],
    n: u32,
    half: u32,
}

impl Permutation {
    /// The row order of (`epoch`, `member`).
    pub fn new(seed: u32, epoch: u32, member: u32, n: u32) -> Self {
        let keys = philox([epoch, 0, member, 0], [seed, Stream::Order as u32]);
        let bits = 32 - n.saturating_sub(1).leading_zeros();
        Permutation { keys, n, half: bits.div_ceil(2).max(1) }
    }

    #[inline(always)]
    pub fn at(&self, i: u32) -> u32 {
        let [x] = self.each([i]);
        x
    }

    /// Several elements at once: in this form the compiler makes vector code of the rounds.
    #[inline(always)]
    pub fn each<const N: usize>(&self, elements: [u32; N]) -> [u32; N] {
        let mut x = self.rounds(elements);
        while x.iter().any(|x| *x >= self.n) {
            let next = self.rounds(x);
            for i in 0..N {
                x[i] = if x[i] < self.n { x[i] } else { next[i] };
            }
        }
        x
    }

    #[inline(always)]
    fn rounds<const N: usize>(&self, x: [u32; N]) -> [u32; N] {
        let mask = (1u32 << self.half) - 1;
        let (mut left, mut right) = (x.map(|x| x >> self.half), x.map(|x| x & mask));
        for round in 0..6u32 {
            let key = self.keys[(round & 3) as usize];
            for i in 0..N {
                let mut f = (right[i] ^ key).wrapping_mul(0x9E37_79B1).wrapping_add(round);
                f = (f ^ (f >> 15)).wrapping_mul(0x85EB_CA77);
                f ^= f >> 13;
                (left[i], right[i]) = (right[i], left[i] ^ (f & mask));
            }
        }
        std::array::from_fn(|i| (left[i] << self.half) | right[i])
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), a counter too: number k is a hash of (seed, k). For what is drawn on the host alone:
/// splits of data, toys, corrupted images, shuffled columns. Not Philox: those are published with their seeds and must not
/// change when the draws of networks do, and they want seeds of 64 bits and numbers of 53.
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for each list of words, as (seed, kind, image).
    pub fn keyed(words: &[u64]) -> Self {
        Self(words.iter().fold(0, |key, word| Self(key ^ word).next_u64()))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal by Box-Muller; two uniforms per number, the sine half unused.
    pub fn normal(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Fisher-Yates; the multiply-shift bias is below n / 2^64.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = ((u128::from(self.next_u64()) * (i as u128 + 1)) >> 64) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of Random123 1.14 (kat_vectors, philox4x32 10).
    #[test]
    fn philox_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn logarithm_and_sine_match_the_library() {
        for i in 0..100_000u32 {
            let bits = i.wrapping_mul(42_949) ^ (i << 20);
            let u = open_unit(bits);
            assert!((ln_unit(u) as f64 - libm::log(u as f64)).abs() <= 2e-7 * (1.0 + libm::log(u as f64).abs()), "{u}");
            let t = unit(bits);
            let (s, c) = sin_cos_turns(t);
            let exact = (t as f64) * std::f64::consts::TAU;
            assert!((s as f64 - libm::sin(exact)).abs() < 4e-7 && (c as f64 - libm::cos(exact)).abs() < 4e-7, "{t}");
        }
    }

    #[test]
    fn filled_normals_are_the_single_ones() {
        let draw = Draw { seed: 9, stream: Stream::Head as u32, step: 3, replica: 2 };
        for first in [0u32, 1, 3, 4, 63, 64, 65] {
            for len in [0usize, 1, 2, 5, 63, 64, 65, 200] {
                let mut out = vec![f32::NAN; len];
                draw.fill_normal(first, &mut out);
                for (i, v) in out.iter().enumerate() {
                    assert_eq!(*v, draw.normal(first + i as u32), "first {first} element {i}");
                }
            }
        }
    }

    /// Moments of 400,000 normals lie within five standard errors of 0, 1, 0 and 3.
    #[test]
    fn normals_have_normal_moments() {
        let n = 400_000usize;
        let draw = Draw { seed: 1, stream: 3, step: 0, replica: 0 };
        let mut out = vec![0f32; n];
        draw.fill_normal(0, &mut out);
        let moment = |p: i32| out.iter().map(|&v| (v as f64).powi(p)).sum::<f64>() / n as f64;
        let se = |variance: f64| 5.0 * (variance / n as f64).sqrt();
        assert!(moment(1).abs() < se(1.0));
        assert!((moment(2) - 1.0).abs() < se(2.0));
        assert!(moment(3).abs() < se(15.0));
        assert!((moment(4) - 3.0).abs() < se(96.0));
    }

    #[test]
    fn permutation_is_one_and_changes_with_epoch_and_member() {
        for n in [1u32, 2, 3, 5, 64, 100, 1000, 4097] {
            let order = |epoch, member| {
                let p = Permutation::new(5, epoch, member, n);
                (0..n).map(|i| p.at(i)).collect::<Vec<_>>()
            };
            let mut seen = order(0, 0);
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
            if n >= 64 {
                assert_ne!(order(0, 0), order(1, 0));
                assert_ne!(order(0, 0), order(0, 1));
            }
        }
    }

    /// The mean position of each row over many epochs is the middle: no row is favoured.
    #[test]
    fn permutation_favours_no_row() {
        let (n, epochs) = (37u32, 4000u32);
        let mut sum = vec![0f64; n as usize];
        for epoch in 0..epochs {
            let p = Permutation::new(11, epoch, 0, n);
            for i in 0..n {
                sum[p.at(i) as usize] += i as f64;
            }
        }
        let sd = (((n * n - 1) as f64 / 12.0) / epochs as f64).sqrt();
        for s in sum {
            assert!((s / epochs as f64 - (n - 1) as f64 / 2.0).abs() < 5.0 * sd);
        }
    }

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        // First outputs for seed 1234567 of the reference C program (Vigna, prng.di.unimi.it/splitmix64.c).
        let mut rng = SplitMix64::new(1234567);
        assert_eq!([rng.next_u64(), rng.next_u64()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        // 4 standard errors: 1/sqrt(n) for the mean, sqrt(2/n) for the variance.
        let mut rng = SplitMix64::new(3);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 4.0 / (n as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / n as f64).sqrt(), "{variance}");
    }
}
