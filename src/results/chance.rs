//! What chance alone allows: the one rule by which error bars are called too narrow, too wide, or good, in the notes beside the
//! metrics and in the report.
//!
//! Of n rows with promises p_i as many hold as a sum of independent coins says (binomial, if all promise the same). A count's two-sided
//! tail probability is that of the tail beyond it, and of as much of the other tail as is no more probable (Blaker 2000).

use crate::metrics;

/// A count less probable than this, it and all beyond it, is a fault of the error bars.
const FAULT: f64 = 0.01;
/// A count more probable than this is what chance alone allows: the central 95 %.
const ALLOWED: f64 = 0.05;
/// Tail probabilities equal but for rounding are equal.
const ROUNDING: f64 = 1e-9;
/// Rows with promises of their own whose counts are summed exactly; beyond, the normal is as good.
const EXACT: usize = 10_000;
/// Fewer rows than this may show that error bars are wrong, but not that they are right.
pub const LEAST: usize = crate::results::FEW;
/// Probabilities smaller than this share of the largest count for none.
const NOTHING: f64 = 1e-30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Holds,
    /// Too narrow, too sure.
    Short,
    /// Too wide, too cautious.
    Long,
    /// Fewer hold than chance alone allows, but not so few that it is settled.
    LooksShort,
    LooksLong,
    /// No rows, or so few that no count of them could settle anything, or that what they show is no proof.
    Few,
}

/// How many of `rows` hold, beside what chance alone allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Chance {
    pub rows: usize,
    pub judgement: Judgement,
    /// Two-sided.
    pub tail: f64,
    pub observed: f64,
    /// The mean promise.
    pub promised: f64,
    /// Shares that chance alone allows: 95 % of what it brings, or more.
    pub range: (f64, f64),
}

impl Chance {
    /// `hits` of as many rows as there are promises hold. `of` = how many parts are judged together; `scatter` = sd of what is
    /// promised, the same for all rows: conformal intervals keep their promise on average over calibration sets alone.
    pub fn new(promised: &[f64], hits: usize, of: usize, scatter: f64) -> Chance {
        let rows = promised.len();
        let n = rows.max(1) as f64;
        let mean = promised.iter().sum::<f64>() / n;
        let mut out = Chance {
            rows,
            judgement: Judgement::Few,
            tail: 1.0,
            observed: hits as f64 / n,
            promised: mean,
            range: (0.0, 1.0),
        };
        if rows == 0 || hits > rows || !mean.is_finite() || !scatter.is_finite() {
            return out;
        }
        let counts = Counts::new(counts(promised, scatter));
        let fault = FAULT / of.max(1) as f64 * (1.0 + ROUNDING);
        out.tail = counts.tail(hits);
        let allowed = |count: &usize| counts.tail(*count) > ALLOWED;
        // The tail probability rises up to the middle and falls from there.
        let middle = counts.middle();
        let low = (0..=middle).collect::<Vec<_>>().partition_point(|k| !allowed(k)).min(middle);
        let high = middle + (middle..=rows).collect::<Vec<_>>().partition_point(allowed).max(1) - 1;
        out.range = (low as f64 / n, high as f64 / n);
        let decisive = |count: usize| counts.tail(count) <= fault;
        out.judgement = match hits {
            _ if !decisive(0) && !decisive(rows) => Judgement::Few,
            k if k < low && decisive(k) => Judgement::Short,
            k if k > high && decisive(k) => Judgement::Long,
            k if k < low => Judgement::LooksShort,
            k if k > high => Judgement::LooksLong,
            _ if rows < LEAST => Judgement::Few,
            _ => Judgement::Holds,
        };
        out
    }

    /// The observed share and "80 to 98 %", in whole percent; finer where that would hide on which side of a bound it lies, or that
    /// not all are meant.
    pub fn words(&self) -> (String, String) {
        let (low, high) = self.range;
        let written = |v: f64, digits: usize| format!("{:.digits$}", 100.0 * v);
        let tells = |digits: &usize| {
            let [seen, from, to] = [self.observed, low, high].map(|v| written(v, *digits));
            let apart = |a: f64, b: f64, x: &str, y: &str| a == b || x != y;
            let ends = [(self.observed, &seen), (low, &from), (high, &to)];
            (self.observed >= low || apart(self.observed, low, &seen, &from))
                && (self.observed <= high || apart(self.observed, high, &seen, &to))
                && apart(low, high, &from, &to)
                && ends.iter().all(|(v, text)| {
                    apart(*v, 1.0, text, &written(1.0, *digits)) && apart(*v, 0.0, text, &written(0.0, *digits))
                })
        };
        let digits = (0..=3).find(tells).unwrap_or(3);
        let range = match (written(low, digits), written(high, digits)) {
            (from, to) if from == to => format!("only {to} %"),
            (from, to) => format!("{from} to {to} %"),
        };
        (format!("{} %", written(self.observed, digits)), range)
    }
}

/// Probabilities of 0, 1, ... rows that hold.
struct Counts {
    at_most: Vec<f64>,
    at_least: Vec<f64>,
}

impl Counts {
    fn new(mass: Vec<f64>) -> Counts {
        let running = |sum: &mut f64, m: &f64| {
            *sum += m;
            Some(*sum)
        };
        let at_most = mass.iter().scan(0.0, running).collect();
        let mut at_least: Vec<f64> = mass.iter().rev().scan(0.0, running).collect();
        at_least.reverse();
        Counts { at_most, at_least }
    }

    /// The median.
    fn middle(&self) -> usize {
        self.at_most.partition_point(|p| *p < 0.5).min(self.at_most.len() - 1)
    }

    fn tail(&self, count: usize) -> f64 {
        let (low, high) = (self.at_most[count], self.at_least[count]);
        let this = low.min(high);
        let limit = this * (1.0 + ROUNDING);
        let other = if low <= high {
            self.at_least.get(self.at_least.partition_point(|p| *p > limit)).copied()
        } else {
            self.at_most.partition_point(|p| *p <= limit).checked_sub(1).map(|k| self.at_most[k])
        };
        (this + other.unwrap_or(0.0)).min(1.0)
    }
}

/// Probability of each count from 0 to all, averaged over promises of this scatter.
fn counts(promised: &[f64], scatter: f64) -> Vec<f64> {
    const NODES: usize = 16;
    if scatter == 0.0 {
        return mass(promised);
    }
    let mut sum = vec![0.0; promised.len() + 1];
    for j in 0..NODES {
        let shift = scatter * metrics::normal_quantile((j as f64 + 0.5) / NODES as f64);
        let moved: Vec<f64> = promised.iter().map(|p| (p + shift).clamp(0.0, 1.0)).collect();
        sum.iter_mut().zip(mass(&moved)).for_each(|(s, m)| *s += m / NODES as f64);
    }
    sum
}

fn mass(promised: &[f64]) -> Vec<f64> {
    let n = promised.len();
    let chance = |p: &f64| p.clamp(0.0, 1.0);
    if promised.iter().all(|p| *p == promised[0]) {
        return binomial(n, chance(&promised[0]));
    }
    let mut mass = vec![0.0; n + 1];
    if n > EXACT {
        let mean: f64 = promised.iter().map(chance).sum();
        let sd = promised.iter().map(|p| chance(p) * (1.0 - chance(p))).sum::<f64>().sqrt().max(1e-12);
        let below = |k: usize| if k > n { 1.0 } else { metrics::normal_cdf((k as f64 - 0.5 - mean) / sd) };
        for (k, m) in mass.iter_mut().enumerate() {
            *m = below(k + 1) - if k == 0 { 0.0 } else { below(k) };
        }
        return mass;
    }
    mass[0] = 1.0;
    for (i, p) in promised.iter().map(chance).enumerate() {
        for k in (1..=i + 1).rev() {
            mass[k] = mass[k] * (1.0 - p) + mass[k - 1] * p;
        }
        mass[0] *= 1.0 - p;
    }
    mass
}

/// From the most probable count outwards, as far as there is anything.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut mass = vec![0.0; n + 1];
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    mass[mode] = 1.0;
    if p > 0.0 && p < 1.0 {
        let odds = p / (1.0 - p);
        for k in mode + 1..=n {
            mass[k] = mass[k - 1] * (n + 1 - k) as f64 / k as f64 * odds;
            if mass[k] < NOTHING {
                break;
            }
        }
        for k in (0..mode).rev() {
            mass[k] = mass[k + 1] * (k + 1) as f64 / (n - k) as f64 / odds;
            if mass[k] < NOTHING {
                break;
            }
        }
    }
    let sum: f64 = mass.iter().sum();
    mass.iter_mut().for_each(|m| *m /= sum);
    mass
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hits: usize, n: usize) -> Chance {
        Chance::new(&vec![0.9; n], hits, 1, 0.0)
    }

    /// By hand: the misses of 25 rows at 10 % have probabilities C(25, k) 0.1^k 0.9^(25 - k).
    #[test]
    fn the_range_is_that_of_the_binomial_by_hand() {
        let choose = |k: i32| (0..k).fold(1.0, |c, j| c * f64::from(25 - j) / f64::from(j + 1));
        let miss = |k: i32| choose(k) * 0.1f64.powi(k) * 0.9f64.powi(25 - k);
        let at_least = |k: i32| (k..=25).map(miss).sum::<f64>();
        // Six misses or more: 3.3 %, and no count at the other end is as rare, as none at all has 7.2 %. So 19 hits lie outside the
        // 95 % and 20 inside; 20 to 25 hits hold 96.7 %.
        assert!((at_least(6) - 0.0334).abs() < 1e-4 && (miss(0) - 0.0718).abs() < 1e-4 && at_least(5) > 0.05);
        for hits in 0..=25 {
            let c = of(hits, 25);
            assert_eq!(c.range, (0.8, 1.0), "20 and 25 of 25");
            assert_eq!(c.judgement == Judgement::Holds, hits >= 20, "{hits}");
        }
        assert!((of(19, 25).tail - at_least(6)).abs() < 1e-12);
        assert_eq!(of(19, 25).words(), ("76 %".into(), "80 to 100 %".into()));
    }

    #[test]
    fn few_rows_are_judged_by_the_exact_tail() {
        use Judgement::*;
        for (hits, n, judgement) in [
            (23, 25, Holds),
            (19, 25, LooksShort),
            // 0.95 % and less.
            (18, 25, Short),
            (3, 12, Short),
            (12, 12, Few),
            (20, 20, Holds),
            // 0.1^2 is 1 %.
            (0, 2, Short),
            (1, 2, Few),
            // 0.1 is not.
            (0, 1, Few),
            (0, 0, Few),
            // All of 40: 0.9^40 = 1.5 %, with the 0.5 % of ten misses and more; all of 60: 0.2 %.
            (40, 40, LooksLong),
            (60, 60, Long),
        ] {
            assert_eq!(of(hits, n).judgement, judgement, "{hits} of {n}");
        }
        let part = Chance::new(&[0.9; 25], 18, 4, 0.0).judgement;
        assert_eq!(part, LooksShort, "one of four parts is off by chance more often than one alone");
        assert_eq!(Chance::new(&[f64::NAN; 9], 1, 1, 0.0).judgement, Few);
        assert_eq!(Chance::new(&[1.0; 30], 30, 1, 0.0).judgement, Holds);
        assert_eq!(Chance::new(&[1.0; 9], 8, 1, 0.0).judgement, Short, "what is certain happens");
    }

    /// The three ways to count agree where they meet, and with the tails that `metrics` has.
    #[test]
    fn counts_agree_with_each_other() {
        let p: Vec<f64> = (0..300).map(|i| 0.6 + 0.3 * f64::from(i % 7) / 7.0).collect();
        let counts = Counts::new(mass(&p));
        for hits in [190, 215, 240] {
            let (at_most, at_least) = metrics::count_tails(&p, hits);
            assert!((counts.at_most[hits] - at_most).abs() < 1e-9 && (counts.at_least[hits] - at_least).abs() < 1e-9);
        }
        let mut nearly = vec![0.7; 60];
        nearly[0] += 1e-13;
        let (a, b) = (mass(&nearly), binomial(60, 0.7));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-10));
        let many: Vec<f64> = (0..=EXACT).map(|i| 0.2 + 0.5 * (i % 7) as f64 / 7.0).collect();
        assert!((mass(&many).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        // Scatter widens what is allowed.
        let (tight, wide) = (of(90, 100).range, Chance::new(&[0.9; 100], 90, 1, 0.06).range);
        assert!(wide.0 < tight.0 && wide.1 >= tight.1, "{tight:?} {wide:?}");
    }

    #[test]
    fn words_are_as_fine_as_they_must_be() {
        let of = |observed: f64, range| Chance { observed, range, ..of(0, 0) }.words();
        assert_eq!(of(0.9, (0.8, 0.98)), ("90 %".into(), "80 to 98 %".into()));
        assert_eq!(of(0.8771, (0.8793, 0.9194)), ("87.7 %".into(), "87.9 to 91.9 %".into()));
        assert_eq!(of(0.9997, (0.9, 1.0)).0, "99.97 %");
        assert_eq!(of(1.0, (1.0, 1.0)).1, "only 100 %");
    }
}
