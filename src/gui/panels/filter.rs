//! What is typed to narrow a list: words that must be there, and comparisons such as nll<0.5.

use std::cmp::Ordering;

/// All of its parts must hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// Somewhere in the line.
    Word(String),
    /// "method:vifo": in what stands under this name.
    In(String, String),
    Compare(String, Than, f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Than {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

const SIGNS: [(&str, Than); 5] =
    [("<=", Than::AtMost), (">=", Than::AtLeast), ("<", Than::Less), (">", Than::More), ("=", Than::Equal)];

/// What is filtered: names are in small letters.
pub trait Line {
    /// All that a bare word is looked for in.
    fn text(&self) -> String;
    /// What stands under a name; None where nothing does.
    fn under(&self, name: &str) -> Option<String>;
    /// A number under a name.
    fn number(&self, name: &str) -> Option<f64>;
}

impl Filter {
    /// What reads as no comparison is a word: nothing that is typed is an error.
    pub fn of(text: &str) -> Filter {
        let part = |word: &str| {
            let word = word.to_lowercase();
            for (sign, than) in SIGNS {
                let Some((name, value)) = word.split_once(sign).filter(|(name, _)| !name.is_empty()) else { continue };
                // With the percent sign of a share, too.
                let (value, scale) = value.strip_suffix('%').map_or((value, 1.0), |v| (v, 0.01));
                if let Ok(v) = value.replace(',', "").parse::<f64>() {
                    return Part::Compare(name.into(), than, v * scale);
                }
            }
            match word.split_once(':') {
                Some((name, text)) if !name.is_empty() && !text.is_empty() => Part::In(name.into(), text.into()),
                _ => Part::Word(word),
            }
        };
        Filter { parts: text.split_whitespace().map(part).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn passes(&self, line: &impl Line) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        let text = line.text().to_lowercase();
        self.parts.iter().all(|part| match part {
            Part::Word(word) => text.contains(word.as_str()),
            Part::In(name, word) => match line.under(name) {
                Some(under) => under.to_lowercase().contains(word.as_str()),
                // No such name: a word with a colon in it.
                None => text.contains(&format!("{name}:{word}")),
            },
            Part::Compare(name, than, v) => {
                line.number(name).and_then(|own| own.partial_cmp(v)).is_some_and(|order| match than {
                    Than::Less => order == Ordering::Less,
                    Than::AtMost => order != Ordering::Greater,
                    Than::More => order == Ordering::Greater,
                    Than::AtLeast => order != Ordering::Less,
                    Than::Equal => order == Ordering::Equal,
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row;

    impl Line for Row {
        fn text(&self) -> String {
            "Concrete VIFO-mean seed 3 10:30".into()
        }
        fn under(&self, name: &str) -> Option<String> {
            (name == "data").then(|| "Concrete".into())
        }
        fn number(&self, name: &str) -> Option<f64> {
            match name {
                "nll" => Some(0.5),
                "share" => Some(0.864),
                "none" => Some(f64::NAN),
                _ => None,
            }
        }
    }

    #[test]
    fn words_names_and_comparisons_all_hold() {
        let passes = |text: &str| Filter::of(text).passes(&Row);
        for yes in ["", "  ", "concrete", "vifo SEED", "data:conc", "nll<0.6", "nll<=0.5 nll>=0.5", "nll=0.5", "10:30"]
        {
            assert!(passes(yes), "{yes}");
        }
        for no in ["moons", "data:vifo", "nll<0.5", "nll>0.5", "rmse<9", "none<9", "none>9", "concrete nll>1", "11:30"]
        {
            assert!(!passes(no), "{no}");
        }
        assert!(passes("share>86%") && !passes("share>87%"));
        // Half-typed is a word, not an error.
        assert!(!passes("nll<") && !passes("<0.5") && !passes("data:x"));
    }
}
