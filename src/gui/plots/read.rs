//! What lies at a place of a plot, in words and numbers.

use super::curves::Curve;
use crate::live::picture::{Band, Map};
use crate::tables::number;

/// Standard deviations on either side that hold 95 % of a normal distribution.
const Z95: f64 = 1.959_963_984_540_054;
/// Curves that fit beside the pointer.
const MOST_CURVES: usize = 12;

/// Mean, standard deviation with its two parts, and interval of a band at x; `names` = of the input and of the target.
pub fn band(band: &Band, names: (&str, &str), x: f64) -> Option<String> {
    let i = band.x.partition_point(|v| *v < x);
    if band.x.is_empty() || i == band.x.len() && x > band.x[i - 1] || i == 0 && x < band.x[0] {
        return None;
    }
    let (a, b) = (i.saturating_sub(1), i.min(band.x.len() - 1));
    let width = band.x[b] - band.x[a];
    let t = if width > 0.0 { (x - band.x[a]) / width } else { 0.0 };
    let at = |v: &[f64]| v[a] + t * (v[b] - v[a]);
    let (mean, aleatoric, epistemic) = (at(&band.mean), at(&band.aleatoric_sd), at(&band.epistemic_sd));
    let sd = libm::hypot(aleatoric, epistemic);
    Some(format!(
        "{} {}\n{}: mean {}\nsd {} (aleatoric {}, epistemic {})\n95 % from {} to {}",
        names.0,
        number(x),
        names.1,
        number(mean),
        number(sd),
        number(aleatoric),
        number(epistemic),
        number(mean - Z95 * sd),
        number(mean + Z95 * sd)
    ))
}

/// Probabilities of the classes and both entropies in the map's cell at (x, y); `inputs` and `classes` = their names.
pub fn map(map: &Map, inputs: (&str, &str), classes: &[String], (x, y): (f64, f64)) -> Option<String> {
    let cell = |(low, high): (f64, f64), v: f64| {
        let share = (v - low) / (high - low);
        (0.0..1.0).contains(&share).then(|| ((share * map.n as f64) as usize).min(map.n.saturating_sub(1)))
    };
    let i = cell(map.y_range, y)? * map.n + cell(map.x_range, x)?;
    let probs = map.probs.get(i * map.k..(i + 1) * map.k)?;
    let mut text = format!("{} {}, {} {}", inputs.0, number(x), inputs.1, number(y));
    for (c, p) in probs.iter().enumerate() {
        let name = classes.get(c).map_or_else(|| c.to_string(), String::clone);
        text += &format!("\nclass {name}: {p:.3}");
    }
    text += &format!("\nentropy {} nats, epistemic part {}", number(map.total[i]), number(map.epistemic[i]));
    Some(text)
}

/// The value of each curve in its row nearest to x; `name` = of the x axis.
pub fn curves(series: &[Curve], name: &str, x: f64) -> Option<String> {
    let nearest = |s: &Curve| {
        let i = s.x.partition_point(|v| *v < x).min(s.x.len().checked_sub(1)?);
        let before = i.saturating_sub(1);
        Some(if (x - s.x[before]).abs() < (s.x[i] - x).abs() { before } else { i })
    };
    let places: Vec<(usize, &Curve)> = series.iter().filter_map(|s| Some((nearest(s)?, s))).collect();
    let rows = places.iter().filter(|(i, s)| s.y.get(*i).is_some_and(|y| y.is_finite()));
    let at = places.iter().map(|(i, s)| s.x[*i]).min_by(|a, b| (a - x).abs().total_cmp(&(b - x).abs()))?;
    let mut lines = vec![format!("{name} {}", short(at))];
    for (i, s) in rows {
        let sd = s.sd.and_then(|sd| sd.get(*i)).map_or(String::new(), |sd| format!(" ± {}", number(*sd)));
        lines.push(format!("{}: {}{sd}", s.name, number(s.y[*i])));
    }
    if lines.len() > MOST_CURVES + 1 {
        let more = lines.len() - 1 - MOST_CURVES;
        lines.truncate(MOST_CURVES + 1);
        lines.push(format!("and {more} more"));
    }
    Some(lines.join("\n"))
}

fn short(v: f64) -> String {
    if v.fract() == 0.0 { format!("{v:.0}") } else { format!("{v:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_read_between_its_points() {
        let b = Band {
            x: vec![0.0, 1.0, 2.0],
            mean: vec![0.0, 2.0, 2.0],
            aleatoric_sd: vec![0.3, 0.3, 0.3],
            epistemic_sd: vec![0.4, 0.4, 0.4],
            members: vec![],
        };
        let text = band(&b, ("t", "size"), 0.5).expect("a reading");
        let want =
            "t 0.5000\nsize: mean 1.000\nsd 0.5000 (aleatoric 0.3000, epistemic 0.4000)\n95 % from 0.02002 to 1.980";
        assert_eq!(text, want);
        assert!(band(&b, ("t", "size"), 2.0).is_some_and(|t| t.contains("mean 2.000")));
        assert_eq!((band(&b, ("t", "size"), -0.1), band(&b, ("t", "size"), 2.1)), (None, None));
        assert_eq!(band(&Band::default(), ("t", "size"), 0.0), None);
    }

    #[test]
    fn a_map_is_read_by_its_cells() {
        let m = Map {
            n: 2,
            k: 2,
            x_range: (0.0, 2.0),
            y_range: (0.0, 2.0),
            probs: vec![1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0],
            total: vec![0.0, 0.69, 0.56, 0.0],
            epistemic: vec![0.0, 0.1, 0.2, 0.0],
        };
        let names = ["a".to_string(), "b".to_string()];
        let text = map(&m, ("x1", "x2"), &names, (0.5, 1.5)).expect("a reading");
        assert!(text.contains("class a: 0.250\nclass b: 0.750\nentropy 0.5600 nats, epistemic part 0.2000"), "{text}");
        assert_eq!(map(&m, ("x1", "x2"), &names, (2.5, 1.5)), None);
        assert_eq!(map(&Map::default(), ("x1", "x2"), &names, (0.0, 0.0)), None);
    }

    #[test]
    fn curves_are_read_in_their_nearest_rows() {
        let (x, y) = ([10.0, 20.0, 30.0], [3.0, f64::NAN, 1.0]);
        let other = ([28.0], [7.0]);
        let all = [
            Curve { name: "loss".into(), x: &x, y: &y, sd: None, look: None },
            Curve { name: "test NLL".into(), x: &other.0, y: &other.1, sd: Some(&[0.5]), look: None },
        ];
        assert_eq!(curves(&all, "step", 29.5).as_deref(), Some("step 30\nloss: 1.000\ntest NLL: 7.000 ± 0.5000"));
        assert_eq!(curves(&all, "step", 18.0).as_deref(), Some("step 20\ntest NLL: 7.000 ± 0.5000"));
        assert_eq!(curves(&[], "step", 1.0), None);
    }
}
