//! Splits that do not leak: all rows of a group in one part, or the future as the test part.
//! Must not look at features.

use crate::base::rng::SplitMix64;
use crate::data::split::{Split, check_fractions};
use crate::error::{Error, Result, either};

/// Training, validation, test: the order of the arrays below.
const PARTS: usize = 3;

/// The shares of the three parts, and which of them are to hold rows.
fn shares(validation_fraction: f64, test_fraction: f64) -> Result<([f64; PARTS], Vec<usize>)> {
    check_fractions(validation_fraction, test_fraction)?;
    let shares = [1.0 - validation_fraction - test_fraction, validation_fraction, test_fraction];
    let wanted = (0..PARTS).filter(|&p| p == 0 || shares[p] > 0.0).collect();
    Ok((shares, wanted))
}

fn too_few(found: String, parts: usize) -> Error {
    let allowed = format!("at least {parts}: one for each of training, validation and test that is wanted");
    let help = either(
        "set data.validation_fraction or data.test_fraction to 0, or choose another column",
        "choose another column",
    );
    Error::usage("split", found, allowed, help)
}

/// Spreads whole groups over the parts: `groups` [n] numbers the group of each row from 0 without a gap. The groups come in
/// a shuffled order and each goes where it leaves the parts nearest to their shares of the rows, or of the rows of each
/// class where `strata` [n] names one. A wanted part is never empty; each part ascends.
pub fn by_group(
    groups: &[usize],
    validation_fraction: f64,
    test_fraction: f64,
    seed: u64,
    strata: Option<&[usize]>,
) -> Result<Split> {
    let (shares, wanted) = shares(validation_fraction, test_fraction)?;
    let n_groups = groups.iter().max().map_or(0, |g| g + 1);
    if n_groups < wanted.len() {
        return Err(too_few(crate::data::counted(n_groups, "group"), wanted.len()));
    }
    let class = |row: usize| strata.map_or(0, |s| s[row]);
    let classes = (0..groups.len()).map(class).max().map_or(1, |c| c + 1);
    let mut rows_of_class = vec![0.0; classes];
    // The rows of each group by class, only the classes that it has.
    let mut counts: Vec<Vec<(usize, f64)>> = vec![vec![]; n_groups];
    for (row, &group) in groups.iter().enumerate() {
        rows_of_class[class(row)] += 1.0;
        match counts[group].iter_mut().find(|(c, _)| *c == class(row)) {
            Some((_, count)) => *count += 1.0,
            None => counts[group].push((class(row), 1.0)),
        }
    }
    let mut order: Vec<usize> = (0..n_groups).collect();
    SplitMix64::new(seed).shuffle(&mut order);
    let mut filled = vec![[0.0; PARTS]; classes];
    let mut part_of = vec![0; n_groups];
    for &group in &order {
        // The growth of the squared distance from the wanted counts, relative to the size of each class.
        let cost = |p: usize| -> f64 {
            let of = |&(c, count): &(usize, f64)| {
                count * (count + 2.0 * (filled[c][p] - shares[p] * rows_of_class[c])) / rows_of_class[c]
            };
            counts[group].iter().map(of).sum()
        };
        let part = wanted.iter().copied().reduce(|best, p| if cost(p) < cost(best) { p } else { best }).unwrap_or(0);
        part_of[group] = part;
        counts[group].iter().for_each(|&(c, count)| filled[c][part] += count);
    }
    let size = |group: usize| counts[group].iter().map(|c| c.1).sum::<f64>();
    for &part in &wanted {
        if part_of.contains(&part) {
            continue;
        }
        // Large groups can leave a part empty: it takes the smallest group of those whose part has another.
        let has_another = |g: usize| part_of.iter().filter(|p| **p == part_of[g]).count() > 1;
        let spare = order.iter().copied().filter(|&g| has_another(g));
        if let Some(group) = spare.reduce(|best, g| if size(g) < size(best) { g } else { best }) {
            part_of[group] = part;
        }
    }
    let of = |part: usize| (0..groups.len()).filter(|&row| part_of[groups[row]] == part).collect();
    Ok(Split { train: of(0), validation: of(1), test: of(2) })
}

/// Rows in the order of `moments` [n]: the last are the test part, those before them validate, the first train. Rows of the
/// same moment stay together, so that a boundary lies at the change of moment nearest to the wanted share. Each part ascends.
pub fn by_time(moments: &[f64], validation_fraction: f64, test_fraction: f64) -> Result<Split> {
    let (shares, wanted) = shares(validation_fraction, test_fraction)?;
    let mut order: Vec<usize> = (0..moments.len()).collect();
    order.sort_by(|&a, &b| moments[a].total_cmp(&moments[b]));
    let edges: Vec<usize> = (1..order.len()).filter(|&i| moments[order[i - 1]] < moments[order[i]]).collect();
    if edges.len() + 1 < wanted.len() {
        return Err(too_few(crate::data::counted(edges.len() + 1, "moment"), wanted.len()));
    }
    let mut end = order.len();
    let mut starts = [0; PARTS];
    // From the last part to the second: each leaves an edge for every part before it.
    for (before, &part) in wanted.iter().enumerate().skip(1).rev() {
        let ideal = end as f64 - shares[part] * order.len() as f64;
        let free = edges[before - 1..].iter().copied().filter(|&e| e < end);
        let distance = |e: usize| (e as f64 - ideal).abs();
        starts[part] = free.reduce(|best, e| if distance(e) < distance(best) { e } else { best }).unwrap_or(end);
        end = starts[part];
    }
    let mut split = Split::default();
    let mut rest = order;
    for part in wanted.into_iter().rev() {
        let mut rows = rest.split_off(starts[part]);
        rows.sort_unstable();
        *[&mut split.train, &mut split.validation, &mut split.test][part] = rows;
    }
    Ok(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(s: &Split) -> [usize; 3] {
        [s.train.len(), s.validation.len(), s.test.len()]
    }

    fn complete(s: &Split, n: usize) {
        let mut rows = [s.train.clone(), s.validation.clone(), s.test.clone()].concat();
        rows.sort_unstable();
        assert_eq!(rows, (0..n).collect::<Vec<_>>());
    }

    #[test]
    fn no_group_is_in_two_parts() {
        // 60 groups of 1 to 12 rows, their rows scattered over the table.
        let mut rng = SplitMix64::new(5);
        let mut groups: Vec<usize> = (0..60).flat_map(|g| vec![g; 1 + g % 12]).collect();
        rng.shuffle(&mut groups);
        let n = groups.len();
        let mut seen = std::collections::HashSet::new();
        for seed in 0..30 {
            let s = by_group(&groups, 0.1, 0.2, seed, None).unwrap();
            complete(&s, n);
            let of = |rows: &[usize]| rows.iter().map(|&r| groups[r]).collect::<std::collections::HashSet<_>>();
            let (train, validation, test) = (of(&s.train), of(&s.validation), of(&s.test));
            assert!(train.is_disjoint(&validation) && train.is_disjoint(&test) && validation.is_disjoint(&test));
            // Off by at most the largest group.
            assert!((s.test.len() as f64 - 0.2 * n as f64).abs() <= 12.0, "{:?}", sizes(&s));
            assert!((s.validation.len() as f64 - 0.1 * n as f64).abs() <= 12.0, "{:?}", sizes(&s));
            assert_eq!(s, by_group(&groups, 0.1, 0.2, seed, None).unwrap());
            seen.extend(test);
        }
        assert_eq!(seen.len(), 60, "every group is tested by some seed");
    }

    #[test]
    fn classes_are_spread_where_groups_allow() {
        // 100 groups of 4 rows, a fifth of them of class 1 throughout: the test part gets 16 and 4 groups.
        let groups: Vec<usize> = (0..400).map(|i| i / 4).collect();
        let strata: Vec<usize> = groups.iter().map(|g| usize::from(g % 5 == 0)).collect();
        for seed in 0..20 {
            let s = by_group(&groups, 0.0, 0.2, seed, Some(&strata)).unwrap();
            let ones = s.test.iter().filter(|&&r| strata[r] == 1).count();
            assert_eq!((s.test.len(), ones), (80, 16), "seed {seed}");
        }
    }

    #[test]
    fn large_and_few_groups_leave_no_part_empty() {
        for seed in 0..20 {
            let s = by_group(&[0, 0, 0, 0, 0, 0, 1, 2], 0.1, 0.1, seed, None).unwrap();
            assert_eq!(sizes(&s), [6, 1, 1]);
            let s = by_group(&[0, 0, 1, 1, 2, 2], 0.1, 0.1, seed, None).unwrap();
            assert_eq!(sizes(&s), [2, 2, 2]);
        }
        let error = by_group(&[0, 0, 1, 1], 0.1, 0.1, 1, None).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("2 groups; allowed: at least 3"), "{error}");
        assert_eq!(sizes(&by_group(&[0, 0, 1, 1], 0.0, 0.1, 1, None).unwrap()), [2, 0, 2]);
        assert_eq!(sizes(&by_group(&[0, 0], 0.0, 0.0, 1, None).unwrap()), [2, 0, 0]);
        assert!(by_group(&[], 0.1, 0.0, 1, None).is_err());
    }

    #[test]
    fn the_future_is_the_test_part_and_ties_stay_together() {
        // Descending file order; moments 0..99.
        let moments: Vec<f64> = (0..100).map(|i| f64::from(99 - i)).collect();
        let s = by_time(&moments, 0.1, 0.2).unwrap();
        assert_eq!((s.test, s.validation), ((0..20).collect::<Vec<_>>(), (20..30).collect::<Vec<_>>()));
        // 10 moments of 10 rows each, so that 0.25 cuts through one: the nearest change is 0.2 or 0.3, the first is taken.
        let moments: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
        let s = by_time(&moments, 0.12, 0.24).unwrap();
        assert_eq!(sizes(&s), [70, 10, 20]);
        assert!(s.test.iter().all(|&r| moments[r] >= 8.0) && s.validation.iter().all(|&r| moments[r] == 7.0));
        complete(&s, 100);
        // A share below one moment still gets that moment; the first moment always trains.
        let s = by_time(&[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0], 0.01, 0.01).unwrap();
        assert_eq!(sizes(&s), [3, 1, 4]);
        let error = by_time(&[1.0, 1.0, 2.0], 0.1, 0.1).unwrap_err().to_string();
        assert!(error.contains("2 moments; allowed: at least 3"), "{error}");
        assert_eq!(sizes(&by_time(&[1.0, 1.0], 0.0, 0.0).unwrap()), [2, 0, 0]);
    }
}
