//! Another program of this kind beside this one, with a memory of its own: on a page, in a worker. Bytes go either way, and the files
//! that either has changed go before them.

use crate::base::clock::{Duration, SystemTime, UNIX_EPOCH};
use crate::base::fs::{Lies, Mirror, absolute, all_of};
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

type Told = Closure<dyn FnMut(JsValue, Array, Array, Array, Array)>;
type Ended = Closure<dyn FnMut(Option<String>)>;

#[wasm_bindgen(module = "/web/peer.js")]
extern "C" {
    /// Undefined where there can be none.
    fn begin(name: &str, program: &JsValue, ready: &Closure<dyn FnMut()>, told: &Told, ended: &Ended) -> JsValue;
    fn post(to: &JsValue, message: JsValue, paths: Array, files: Array, times: Array, locked: Array);
    /// The last message was taken: the next may come.
    fn taken(from: &JsValue);
    /// It is to end by itself.
    fn close(worker: &JsValue);
}

#[derive(Debug, Clone, PartialEq)]
pub enum PeerState {
    Starting,
    Ready,
    /// There can be none here: an old browser, or files without a server.
    Unable,
    /// By itself, with the reason.
    Ended(String),
}

struct Shared {
    state: RefCell<PeerState>,
    messages: RefCell<VecDeque<Vec<u8>>>,
    /// Its files, until it ends.
    mirror: RefCell<Option<Mirror>>,
    wake: Box<dyn Fn()>,
}

/// It ends when this is dropped, after a last word on its files.
pub struct Peer {
    worker: JsValue,
    shared: Rc<Shared>,
    /// What it has of this side's files.
    roots: BTreeSet<PathBuf>,
    closures: Option<(Closure<dyn FnMut()>, Told, Ended)>,
}

impl Peer {
    /// `wake` is called when its state changes and when it has said something.
    pub fn start(name: &str, wake: impl Fn() + 'static) -> Peer {
        let shared = Rc::new(Shared {
            state: RefCell::new(PeerState::Starting),
            messages: RefCell::default(),
            mirror: RefCell::new(Some(Mirror::new())),
            wake: Box::new(wake),
        });
        let at = shared.clone();
        let ready = Closure::new(move || at.go_to(PeerState::Ready));
        let at = shared.clone();
        let told = Closure::new(move |message: JsValue, paths, files, times, locked| {
            if let Some(mirror) = &*at.mirror.borrow() {
                take_files(mirror, &paths, &files, &times, &locked);
            }
            if !message.is_null() {
                at.messages.borrow_mut().push_back(Uint8Array::new(&message).to_vec());
                (at.wake)();
            }
        });
        let at = shared.clone();
        let ended = Closure::new(move |why: Option<String>| {
            // What it held is free.
            at.mirror.replace(None);
            let before = at.state.borrow().clone();
            match before {
                PeerState::Starting => at.go_to(PeerState::Unable),
                PeerState::Ready => at.go_to(PeerState::Ended(why.unwrap_or_default())),
                PeerState::Unable | PeerState::Ended(_) => {}
            }
        });
        let worker = begin(name, &wasm_bindgen::module(), &ready, &told, &ended);
        if worker.is_undefined() {
            shared.state.replace(PeerState::Unable);
            shared.mirror.replace(None);
        }
        Peer { worker, shared, roots: BTreeSet::new(), closures: Some((ready, told, ended)) }
    }

    pub fn state(&self) -> PeerState {
        self.shared.state.borrow().clone()
    }

    /// Says something that needs the files of `paths`: it has them before, as they are now.
    pub fn post(&mut self, message: &[u8], paths: &[PathBuf]) {
        let mirror = self.shared.mirror.borrow();
        let Some(mirror) = &*mirror else { return };
        let news: BTreeSet<PathBuf> =
            paths.iter().flat_map(absolute).filter(|path| !is_in(&self.roots, path)).collect();
        let mut files: Vec<(PathBuf, Lies)> = if self.roots.is_empty() && news.is_empty() {
            vec![]
        } else {
            mirror.changes().into_iter().filter(|(path, _)| is_in(&self.roots, path)).collect()
        };
        files.extend(news.iter().flat_map(|path| all_of(path)));
        self.roots.extend(news);
        send_files(&self.worker, Uint8Array::from(message).into(), files, &mirror.locks());
    }

    /// What it has said; the next comes after.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let message = self.shared.messages.borrow_mut().pop_front()?;
        taken(&self.worker);
        Some(message)
    }
}

impl Shared {
    fn go_to(&self, state: PeerState) {
        self.state.replace(state);
        (self.wake)();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if matches!(self.state(), PeerState::Starting | PeerState::Ready) {
            close(&self.worker);
        }
        // Its last files are still to be heard of; and one of these may be what drops it.
        if let Some((ready, told, ended)) = self.closures.take() {
            ready.forget();
            told.forget();
            ended.forget();
        }
    }
}

fn is_in(roots: &BTreeSet<PathBuf>, path: &std::path::Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// The other end, in the worker: what it has told the page of its files.
pub struct Above {
    mirror: Mirror,
    locks: BTreeSet<PathBuf>,
    /// A message is on its way that the page has not taken.
    waits: bool,
}

impl Above {
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Above {
        Above { mirror: Mirror::new(), locks: BTreeSet::new(), waits: false }
    }

    /// Takes files in that come with a message.
    pub fn hear(&mut self, paths: &Array, files: &Array, times: &Array, locked: &Array) {
        take_files(&self.mirror, paths, files, times, locked);
    }

    pub fn taken(&mut self) {
        self.waits = false;
    }

    /// Whether the page would take a message.
    pub fn is_free(&self) -> bool {
        !self.waits
    }

    /// Tells what has changed of the files, and a message.
    pub fn tell(&mut self, message: Option<&[u8]>) {
        let (files, locks) = (self.mirror.changes(), self.mirror.locks());
        if message.is_none() && files.is_empty() && locks == self.locks {
            return;
        }
        self.waits |= message.is_some();
        let message = message.map_or(JsValue::NULL, |bytes| Uint8Array::from(bytes).into());
        send_files(&js_sys::global(), message, files, &locks);
        self.locks = locks;
    }
}

fn send_files(to: &JsValue, message: JsValue, files: Vec<(PathBuf, Lies)>, locks: &BTreeSet<PathBuf>) {
    let text = |path: &PathBuf| JsValue::from_str(&path.to_string_lossy());
    let (paths, all, times) = (Array::new(), Array::new(), Array::new());
    for (path, lies) in files {
        paths.push(&text(&path));
        let mut time = 0.0;
        all.push(&match lies {
            Lies::File { bytes, modified } => {
                time = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                Uint8Array::from(bytes.as_slice()).into()
            }
            Lies::Folder => JsValue::TRUE,
            Lies::Nothing => JsValue::FALSE,
        });
        times.push(&time.into());
    }
    post(to, message, paths, all, times, locks.iter().map(text).collect());
}

fn take_files(mirror: &Mirror, paths: &Array, files: &Array, times: &Array, locked: &Array) {
    for ((path, file), time) in paths.iter().zip(files.iter()).zip(times.iter()) {
        let Some(path) = path.as_string().map(PathBuf::from) else { continue };
        let time = Duration::try_from_secs_f64(time.as_f64().unwrap_or(0.0)).unwrap_or_default();
        let modified: SystemTime = UNIX_EPOCH + time;
        let lies = match file.as_bool() {
            Some(true) => Lies::Folder,
            Some(false) => Lies::Nothing,
            None => Lies::File { bytes: Arc::new(Uint8Array::new(&file).to_vec()), modified },
        };
        mirror.set(path, lies);
    }
    mirror.set_locks(locked.iter().filter_map(|path| path.as_string().map(PathBuf::from)).collect());
}
