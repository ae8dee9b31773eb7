//! The one error type of the library. A message is one line: the place, what was found there, what is allowed, and
//! the cure. Library code returns it and never prints; `main` turns it into an exit code.

use crate::base::visible::visible;
use serde::{Deserialize, Serialize};

/// What every message says, in the order in which it is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// File with row and column, recipe key, run folder, adapter: where the reader should look.
    pub place: String,
    /// What stands there now.
    pub found: String,
    /// What may stand there; empty when the cure says it already.
    pub allowed: String,
    /// What to do about it.
    pub help: String,
    /// What of it a window can do by a click.
    pub cures: Box<[Cure]>,
}

/// A change that would cure an error, or what a caution warns of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cure {
    /// A value of a recipe key, both as a recipe has them: "train.clip", "1".
    Set { key: String, value: String },
    /// Another folder for runs.
    RunsFolder,
}

impl Cure {
    pub fn set(key: &str, value: impl Into<String>) -> Cure {
        Cure::Set { key: key.into(), value: value.into() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.found)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Error {
    /// The command or the recipe is wrong: exit code 2.
    #[error("{0}")]
    Usage(Fault),
    /// A data file is wrong: exit code 1.
    #[error("{0}")]
    Data(Fault),
    /// A file could not be read or written: exit code 1.
    #[error("{0}")]
    Io(Fault),
    /// Training or prediction failed (NaN, stopped device): exit code 1.
    #[error("{0}")]
    Run(Fault),
    /// No adapter, or one that cannot do what is asked: exit code 1.
    #[error("{0}")]
    Device(Fault),
    /// Ctrl-C or SIGTERM came before it was done: exit code 130, as a shell reports a program ended so.
    #[error("{0}")]
    Stopped(Fault),
}

pub use crate::base::words::either;

pub type Result<T> = std::result::Result<T, Error>;

fn fault(
    place: impl Into<String>,
    found: impl Into<String>,
    allowed: impl Into<String>,
    help: impl Into<String>,
) -> Fault {
    // Texts of other libraries may span lines; ours may not. A place is a name, of which every blank counts.
    let one_line = |s: String| visible(&s.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    Fault {
        place: visible(&place.into()).into_owned(),
        found: one_line(found.into()),
        allowed: one_line(allowed.into()),
        help: one_line(help.into()),
        cures: Box::default(),
    }
}

impl Error {
    pub fn usage(
        place: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Error::Usage(fault(place, found, allowed, help))
    }
    pub fn data(
        place: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Error::Data(fault(place, found, allowed, help))
    }
    pub fn run(place: impl Into<String>, found: impl Into<String>, help: impl Into<String>) -> Self {
        Error::Run(fault(place, found, "", help))
    }
    pub fn device(
        place: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Error::Device(fault(place, found, allowed, help))
    }
    pub fn stopped() -> Self {
        Error::Stopped(fault(
            "stopped",
            "as asked, before it was done",
            "",
            either("the same command resumes or restarts", "start it again"),
        ))
    }
    /// `doing` names the act: "read", "write", "create".
    pub fn io(path: &std::path::Path, doing: &str, source: &std::io::Error) -> Self {
        let full;
        let help = match source.kind() {
            std::io::ErrorKind::NotFound => "check the path",
            std::io::ErrorKind::PermissionDenied => "check the permissions or choose another folder",
            std::io::ErrorKind::StorageFull => {
                full = either(
                    "free space on the disk or choose another folder with --out",
                    "free space on the disk or choose another folder",
                );
                &full
            }
            std::io::ErrorKind::AlreadyExists => "choose another name",
            _ => "check the path and the disk",
        };
        // The tempfile crate adds the temporary name, which would only confuse.
        let source = source.to_string();
        let source = source.split(" at path").next().unwrap_or(&source);
        Error::Io(fault(path.display().to_string(), format!("cannot {doing}: {source}"), "", help))
    }

    /// The same error, found while looking at `place`.
    pub fn within(mut self, place: &str) -> Self {
        let f = self.fault_mut();
        f.place = format!("{place}: {}", f.place);
        self
    }

    /// With a further click that would cure it.
    pub fn curing(mut self, cure: Cure) -> Self {
        let f = self.fault_mut();
        f.cures = std::mem::take(&mut f.cures).into_iter().chain([cure]).collect();
        self
    }

    pub fn cures(&self) -> &[Cure] {
        &self.fault().cures
    }

    pub fn fault(&self) -> &Fault {
        let (Error::Usage(f) | Error::Data(f) | Error::Io(f) | Error::Run(f) | Error::Device(f) | Error::Stopped(f)) =
            self;
        f
    }

    fn fault_mut(&mut self) -> &mut Fault {
        let (Error::Usage(f) | Error::Data(f) | Error::Io(f) | Error::Run(f) | Error::Device(f) | Error::Stopped(f)) =
            self;
        f
    }

    /// 2 for wrong usage, 130 for a stop, 1 for everything that failed on the way.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Stopped(_) => 130,
            _ => 1,
        }
    }
}
