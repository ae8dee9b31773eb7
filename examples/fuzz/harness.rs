//! What the fuzzer feeds vifo and what it holds every answer to: an input is taken or refused, in one line that names its
//! place; nothing panics, nothing that is taken holds a number that is none, and nothing takes longer than `PATIENCE`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use vifo::base::rng::philox;
use vifo::data::encode::meaning::Rules;
use vifo::data::images;
use vifo::data::inspect;
use vifo::data::load::{self, Loaded};
use vifo::data::table::{ReadOptions, read_table};
use vifo::error::{Error, Result};
use vifo::exec::Device;
use vifo::method;
use vifo::metrics::Measure;
use vifo::recipe::Recipe;
use vifo::study::score;
use vifo::train::Flow;
use vifo::workflow::fit;

/// For an input of a few kB, on a machine that does other work beside it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest message, in characters: a line that a person reads.
const LONGEST: usize = 1200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A table as `inspect` and `fit` read it.
    Table,
    /// The same, trained for two epochs and predicted.
    Fit,
    /// Predictions of another tool.
    Score,
    Recipe,
    /// One image in a folder of images.
    Image,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Table, Kind::Fit, Kind::Score, Kind::Recipe, Kind::Image];

    /// Name of the folder of its fixtures.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Fit => "fit",
            Kind::Score => "score",
            Kind::Recipe => "recipe",
            Kind::Image => "image",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Kind::Table | Kind::Fit | Kind::Score => "input.csv",
            Kind::Recipe => "input.toml",
            Kind::Image => "input.png",
        }
    }
}

/// What vifo made of an input that it treated well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Taken,
    Refused(String),
}

/// Numbers from counters: the same seed walks the same inputs.
pub struct Random {
    seed: u32,
    drawn: u32,
}

impl Random {
    pub fn new(seed: u32) -> Random {
        Random { seed, drawn: 0 }
    }

    /// Below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        self.drawn += 1;
        let [bits, ..] = philox([self.drawn, 0, 0, 0], [self.seed, 0]);
        ((u64::from(bits) * n as u64) >> 32) as usize
    }
}

/// Texts that have a meaning somewhere: separators, quotes, numbers at the edge of their type, dates, markers, escapes.
const TOKENS: &[&str] = &[
    ",",
    ";",
    "\t",
    "|",
    " ",
    "\"",
    "'",
    "\n",
    "\r\n",
    "\r",
    "\0",
    "#",
    "\u{feff}",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1e999",
    "1e-320",
    "1e308",
    "-1e308",
    "9007199254740993",
    "18446744073709551616",
    "-0",
    "007",
    "1.299,99",
    "1,234.5",
    "1 037",
    "\u{2212}3",
    "(12)",
    "$5",
    "45%",
    "12 kg",
    "2024-02-30",
    "31.12.2024",
    "12/31/2024",
    "2024-01-01T00:00:00Z",
    "NA",
    "None",
    "?",
    "-",
    ".",
    "#N/A",
    "<NA>",
    "\\N",
    "true",
    "no",
    "\u{1b}[2J",
    "=1+1",
    "\u{202e}",
    "\u{e9}",
    "[",
    "]",
    "{",
    "}",
    "= ",
    "[[",
    "0x1F",
    "1_000",
    "''",
    "id",
    "mean",
    "sd",
    "prob_0",
];

/// One to eight changes of `input`, of which some take a piece of `other`.
pub fn mutate(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..1 + random.below(8) {
        let at = random.below(out.len() + 1);
        let end = (at + 1 + random.below(16)).min(out.len());
        match random.below(9) {
            0 if at < out.len() => out[at] ^= 1 << random.below(8),
            1 if at < out.len() => out[at] = random.below(256) as u8,
            2 => out.truncate(at),
            3 => drop(out.drain(at..end)),
            4 => {
                let piece = out[at..end].to_vec();
                out.splice(at..at, piece);
            }
            5 => swap_cells(&mut out, random),
            6 => repeat_line(&mut out, random),
            7 if !other.is_empty() => {
                let from = random.below(other.len());
                let piece = other[from..(from + 1 + random.below(40)).min(other.len())].to_vec();
                out.splice(at..end, piece);
            }
            _ => {
                let token = TOKENS[random.below(TOKENS.len())].bytes();
                let end = if random.below(2) == 0 { at } else { end };
                out.splice(at..end, token);
            }
        }
    }
    out
}

/// A cell's text in another cell's place.
fn swap_cells(out: &mut Vec<u8>, random: &mut Random) {
    let cells: Vec<(usize, usize)> = {
        let ends = out.iter().enumerate().filter(|(_, b)| matches!(b, b',' | b';' | b'\t' | b'\n')).map(|(i, _)| i);
        let mut from = 0;
        ends.map(|end| (std::mem::replace(&mut from, end + 1), end)).collect()
    };
    if cells.is_empty() {
        return;
    }
    let ((a, b), (c, d)) = (cells[random.below(cells.len())], cells[random.below(cells.len())]);
    let cell = out[a..b].to_vec();
    out.splice(c..d, cell);
}

fn repeat_line(out: &mut Vec<u8>, random: &mut Random) {
    let lines: Vec<Vec<u8>> = out.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if let Some(line) = lines.get(random.below(lines.len().max(1))) {
        let place: usize = lines.iter().take(random.below(lines.len() + 1)).map(Vec::len).sum();
        out.splice(place..place, line.iter().copied());
    }
}

/// Feeds `bytes` to vifo in the folder `dir`. An error says what was wrong with the answer.
pub fn check(kind: Kind, bytes: &[u8], dir: &Path) -> std::result::Result<Outcome, String> {
    let file = dir.join(kind.file());
    std::fs::write(&file, bytes).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| match kind {
        Kind::Table => table(&file).map(drop),
        Kind::Fit => trained(&file, dir),
        Kind::Score => scored(&file),
        Kind::Recipe => recipe(&String::from_utf8_lossy(bytes)),
        Kind::Image => image(&file),
    }));
    let took = begun.elapsed();
    let outcome = judge(answer.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without a message").to_string()
    }))?;
    if took > PATIENCE {
        return Err(format!("took {:.0} s", took.as_secs_f64()));
    }
    Ok(outcome)
}

/// What an answer is worth; the outer error is a panic.
pub fn judge(answer: std::result::Result<Result<()>, String>) -> std::result::Result<Outcome, String> {
    match answer {
        Err(panic) => Err(format!("panicked: {panic}")),
        Ok(Ok(())) => Ok(Outcome::Taken),
        Ok(Err(error)) => {
            let message = error.to_string();
            if message.is_empty() || message.chars().any(|c| c.is_control()) || message.chars().count() > LONGEST {
                return Err(format!("a message that is not one readable line: {message:?}"));
            }
            if message.contains("a bug of vifo") || message.contains(WRONG) {
                return Err(message);
            }
            Ok(Outcome::Refused(message))
        }
    }
}

/// Marks a broken promise inside `Result`, so that the checks below read as the library's own code does.
const WRONG: &str = "taken, but";

fn wrong(what: &str) -> Error {
    Error::run("fuzz", format!("{WRONG} {what}"), "")
}

fn table(file: &Path) -> Result<Loaded> {
    let table = read_table(file, &ReadOptions::default())?;
    inspect::inspect(&table, None, None, &Rules::default())?;
    let loaded = load::load(&recipe_of(file)?)?;
    for part in [&loaded.train, &loaded.validation, &loaded.test] {
        let numbers = part.x.iter().chain(&part.y).map(|&v| f64::from(v)).chain(part.target.iter().copied());
        if numbers.into_iter().any(|v| !v.is_finite()) {
            return Err(wrong("an encoded number is not finite"));
        }
        if part.x.len() != part.n * part.d || part.y.len() != part.n {
            return Err(wrong("the encoded parts have other lengths than they say"));
        }
    }
    Ok(loaded)
}

/// The smallest network on the file, with every other key at its default.
fn recipe_of(file: &Path) -> Result<Recipe> {
    let text = format!(
        "seed = 1\n[data]\nfile = {:?}\n[net]\nhidden = [4]\n[method]\nmembers = 2\n[train]\nepochs = 2",
        file.display().to_string()
    );
    Recipe::from_table(&Recipe::parse(&text, "fuzz")?, "fuzz")
}

fn trained(file: &Path, dir: &Path) -> Result<()> {
    let run = dir.join("run");
    let device = Device::open("cpu")?;
    let fitted = fit::fit(&recipe_of(file)?, &run, true, &device, &mut |_, _| Flow::Continue)?;
    let results = fitted.results.iter().flat_map(|r| &r.metrics);
    for metric in results {
        if matches!(metric.value, Measure::Value(v) if !v.is_finite()) {
            return Err(wrong(&format!("the metric {} is not finite", metric.name)));
        }
    }
    Ok(())
}

fn scored(file: &Path) -> Result<()> {
    let scored = score::score(file, &ReadOptions::default(), &score::ScoreRequest::default())?;
    match scored.results.metrics.iter().find(|m| matches!(m.value, Measure::Value(v) if v.is_nan())) {
        Some(metric) => Err(wrong(&format!("the metric {} is not a number", metric.name))),
        None => Ok(()),
    }
}

/// A recipe that is taken says the same again when written and read.
fn recipe(text: &str) -> Result<()> {
    let recipe = method::checked(&Recipe::parse(text, "recipe")?, "recipe")?;
    let written = recipe.to_toml()?;
    let again = method::checked(&Recipe::parse(&written, "recipe as written")?, "recipe as written")
        .map_err(|e| wrong(&format!("it cannot be read again: {e}")))?;
    if again == recipe { Ok(()) } else { Err(wrong("written and read again it says something else")) }
}

fn image(file: &Path) -> Result<()> {
    let dir = file.with_file_name("images");
    for class in ["a", "b"] {
        let class = dir.join(class);
        std::fs::create_dir_all(&class).map_err(|e| Error::io(&class, "create", &e))?;
        let to = class.join("one.png");
        std::fs::copy(file, &to).map_err(|e| Error::io(&to, "write", &e))?;
    }
    images::open(&dir, images::Part::All)?.check()
}

/// The inputs that mutations begin with.
pub fn seeds(kind: Kind) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read(root.join(path)).unwrap_or_default();
    let texts = |all: &[&str]| all.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
    let mut seeds = match kind {
        Kind::Table | Kind::Fit => {
            let mut tables = texts(TABLES);
            let record =
                |i: u32| format!("{{\"a\": {i}, \"kind\": \"k{}\", \"p\": {{\"x\": null, \"y\": {}}}}}", i % 3, i * i);
            tables.push(format!("[{}]", (0..12).map(record).collect::<Vec<_>>().join(", ")).into_bytes());
            tables.push(b"{\"a\": [1, 2, 3], \"y\": [\"x\", null, true]}".to_vec());
            tables.push(read("assets/data/iris.csv"));
            tables.push(read("assets/data/co2.csv").into_iter().take(3000).collect());
            tables
        }
        Kind::Score => texts(SCORES),
        Kind::Recipe => ["sinusoid", "moons", "cubic", "digits", "blobs"]
            .iter()
            .map(|name| read(&format!("assets/recipes/{name}.toml")))
            .collect(),
        Kind::Image => vec![read("docs/app/priors.png"), tiny_png()],
    };
    seeds.extend(fixtures(kind).into_iter().map(|(_, bytes)| bytes));
    seeds.retain(|s| !s.is_empty());
    seeds
}

/// Inputs that once went wrong.
pub fn fixtures(kind: Kind) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz").join(kind.name());
    let Ok(entries) = std::fs::read_dir(dir) else { return vec![] };
    let mut found: Vec<(String, Vec<u8>)> = entries
        .flatten()
        .filter_map(|e| Some((e.file_name().to_string_lossy().into_owned(), std::fs::read(e.path()).ok()?)))
        .collect();
    found.sort();
    found
}

/// A grey image of 3 x 2.
fn tiny_png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    if let Some(picture) = image::GrayImage::from_raw(3, 2, vec![0, 50, 100, 150, 200, 250]) {
        let _ = picture.write_to(&mut bytes, image::ImageFormat::Png);
    }
    bytes.into_inner()
}

const TABLES: &[&str] = &[
    "a,b,kind,y\n1,2.5,red,3\n2,3.5,blue,5\n3,1.5,red,4\n4,0.5,blue,9\n5,2.0,red,11\n6,4.5,blue,12\n7,5.5,red,15\n8,1.0,blue,16\n9,2.2,red,18\n10,3.1,blue,21\n11,2,red,22\n12,1,blue,24\n",
    "date;preis;menge\n01.02.2024;1.299,99;3\n02.02.2024;925,76;4\n03.02.2024;1.037,00;1\n04.02.2024;88,10;9\n05.02.2024;7,5;2\n06.02.2024;1.100,1;8\n07.02.2024;12,0;6\n08.02.2024;15,0;5\n09.02.2024;1.000,0;4\n10.02.2024;3,3;3\n11.02.2024;4,4;2\n",
    "name,when,weight,sold,ok,price\nAnn Lee,2024-01-01,12.5 kg,45%,yes,$605.50\nBob,2024-01-02,,12%,no,\"$1,037.00\"\nCy,2024-02-03,3 kg,NA,yes,$12\nDee,2024-03-04,4 kg,9%,no,$99\nEve,2024-04-05,5 kg,8%,yes,$7\nFay,2024-05-06,6 kg,7%,no,$8\nGus,2024-06-07,7 kg,6%,yes,$9\nHal,2024-07-08,8 kg,5%,no,$10\nIda,2024-08-09,9 kg,4%,yes,$11\nJon,2024-09-10,10 kg,3%,no,$12\nKim,2024-10-11,11 kg,2%,yes,$13\nLou,2024-11-12,12 kg,1%,no,$14\n",
    ",0,1,2\n0,5.1,3.5,yes\n1,4.9,3.0,no\n2,4.7,3.2,yes\n3,4.6,3.1,no\n4,5.0,3.6,yes\n5,5.4,3.9,no\n6,4.6,3.4,yes\n7,5.0,3.4,no\n8,4.4,2.9,yes\n9,4.9,3.1,no\n10,5.4,3.7,yes\n11,4.8,3.4,no\n",
];

const SCORES: &[&str] = &[
    "y,mean,sd\n1,1.1,0.5\n2,1.9,0.4\n3,3.3,0.6\n4,4.1,0.2\n5,4.7,0.5\n",
    "y_true,y_pred,y_std\n1,1.1,0.5\n2,1.9,0.4\n3,3.3,0.6\n",
    "target,prob_0,prob_1\n0,0.9,0.1\n1,0.2,0.8\n0,0.6,0.4\n1,0.45,0.55\n",
    "label,p_cat,p_dog,p_emu\ncat,0.156,0.770,0.073\ndog,0.1,0.8,0.1\nemu,0.2,0.2,0.6\n",
    "y,lower_90,upper_90\n1,0,2\n2,1,3\n3,3.5,4\n",
    "y,q0.05,q0.5,q0.95\n1,0,1,2\n2,1,2,3\n3,2,3,4\n",
];
