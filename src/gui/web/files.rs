//! Files between the page, the browser's storage and the user's disk.

use crate::base::clock::{Duration, UNIX_EPOCH};
use crate::base::fs::{self, Lies, Mirror};
use crate::error::{Error, Result};
use crate::gui::gallery::Example;
use crate::gui::panels::pick::{DialogKind, file_name};
use crate::live::Job;
use eframe::egui;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/web/store.js")]
extern "C" {
    #[wasm_bindgen(catch)]
    async fn load_all() -> std::result::Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn keep_all(paths: js_sys::Array, bytes: js_sys::Array) -> std::result::Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    async fn fetched(name: &str) -> std::result::Result<JsValue, JsValue>;
    fn download(name: &str, bytes: &[u8], kind: &str);
    #[wasm_bindgen(js_name = show)]
    fn show_bytes(bytes: &[u8], kind: &str);
}

/// What a user's files are put under.
const FILES: &str = "/files";

thread_local! {
    /// Why the browser has stopped keeping files, until it is told.
    static TROUBLE: RefCell<Option<Error>> = const { RefCell::new(None) };
}

fn failed(found: String) -> Error {
    let help = "runs last until the page is closed: download what is to stay";
    Error::run("the browser's storage", found, help)
}

/// Why files are not kept any more; once.
pub fn trouble() -> Option<Error> {
    TROUBLE.take()
}

/// Puts what the browser has kept into the file system.
///
/// # Errors
/// The browser keeps nothing: a private window, or no room.
pub async fn load(storage: &Mirror) -> Result<()> {
    let _ = fs::create_dir_all(FILES);
    let all = load_all().await.map_err(|e| failed(words(&e)))?;
    for record in js_sys::Array::from(&all).iter() {
        let record = js_sys::Array::from(&record);
        let (Some(path), Some(ms)) = (record.get(0).as_string(), record.get(2).as_f64()) else { continue };
        let bytes = js_sys::Uint8Array::new(&record.get(1)).to_vec();
        let modified = UNIX_EPOCH + Duration::from_secs_f64(ms.max(0.0) / 1e3);
        storage.set(path.into(), Lies::File { bytes: Arc::new(bytes), modified });
    }
    Ok(())
}

/// What JavaScript threw, in its own words.
pub fn words(thrown: &JsValue) -> String {
    let message = js_sys::Reflect::get(thrown, &"message".into()).ok().and_then(|m| m.as_string());
    let message = message.or_else(|| thrown.as_string());
    message.unwrap_or_else(|| format!("{thrown:?}"))
}

/// Milliseconds between two looks for what has changed.
const EVERY_MS: u32 = 1000;

/// Keeps in the browser what changes, from now on.
pub fn keep(storage: Mirror) {
    wasm_bindgen_futures::spawn_local(async move {
        loop {
            wait(EVERY_MS).await;
            let (paths, all) = (js_sys::Array::new(), js_sys::Array::new());
            for (path, lies) in storage.changes() {
                let bytes = match lies {
                    Lies::File { bytes, .. } => js_sys::Uint8Array::from(bytes.as_slice()).into(),
                    Lies::Nothing => JsValue::NULL,
                    // It has none: a folder is where its files are.
                    Lies::Folder => continue,
                };
                paths.push(&JsValue::from_str(&path.to_string_lossy()));
                all.push(&bytes);
            }
            if paths.length() == 0 {
                continue;
            }
            if let Err(e) = keep_all(paths, all).await {
                // No storage, or no room in it.
                TROUBLE.set(Some(failed(words(&e))));
                return;
            }
        }
    });
}

async fn wait(ms: u32) {
    let timer = js_sys::Promise::new(&mut |done, _| {
        if let Some(window) = web_sys::window() {
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms as i32);
        }
    });
    let _ = wasm_bindgen_futures::JsFuture::from(timer).await;
}

/// A folder of this name that is not there yet: "flowers", else "flowers-2".
fn free(name: &str) -> PathBuf {
    let names = std::iter::once(name.to_string()).chain((2..).map(|n| format!("{name}-{n}")));
    names.map(|name| Path::new(FILES).join(name)).find(|dir| !fs::exists(dir)).unwrap_or_default()
}

/// Puts the user's files into the file system: one beside the others, several into a folder of their own, a zip unpacked.
fn put(files: Vec<(String, Vec<u8>)>) -> Result<Option<PathBuf>> {
    let written = |path: &Path, bytes: &[u8]| {
        let dir = path.parent().unwrap_or(Path::new(FILES));
        let done = fs::create_dir_all(dir).and_then(|()| fs::write(path, bytes));
        done.map_err(|e| Error::io(path, "write", &e))
    };
    match files.as_slice() {
        [] => Ok(None),
        [(name, bytes)] if name.to_lowercase().ends_with(".zip") => {
            // What was dropped before under this name must not lie among it.
            let stem = &name[..name.len() - ".zip".len()];
            super::zip::unpack(bytes, &free(stem)).map(Some)
        }
        [(name, bytes)] => {
            let path = Path::new(FILES).join(name);
            written(&path, bytes)?;
            Ok(Some(path))
        }
        several => {
            let folder = free("dropped");
            for (name, bytes) in several {
                written(&folder.join(name), bytes)?;
            }
            Ok(Some(folder))
        }
    }
}

/// What was dropped on the page.
pub fn receive(ctx: &egui::Context, files: Vec<egui::DroppedFileHandle>) -> Job<Option<PathBuf>> {
    let (job, send) = Job::awaited("reading the files");
    let wake = ctx.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let mut all = vec![];
        for file in files {
            let name = file_name(file.path());
            match file.bytes_async().await {
                Ok(bytes) => all.push((name, bytes)),
                Err(e) => {
                    let _ = send.send(Err(Error::data(name, format!("cannot be read: {e}"), "", "drop it again")));
                    return wake.request_repaint();
                }
            }
        }
        let _ = send.send(put(all));
        wake.request_repaint();
    });
    job
}

/// An example's picture, PNG: it lies beside the page, which is fetched without it.
pub fn picture(ctx: &egui::Context, example: &Example) -> Job<Vec<u8>> {
    let (job, send) = Job::awaited("the picture");
    let (wake, name) = (ctx.clone(), format!("gallery/{}.png", example.name));
    wasm_bindgen_futures::spawn_local(async move {
        let answer = fetched(&name).await.map(|bytes| js_sys::Uint8Array::new(&bytes).to_vec());
        let _ = send.send(answer.map_err(|e| Error::run(name, words(&e), "load the page again")));
        wake.request_repaint();
    });
    job
}

/// The browser's dialog. A folder is chosen as a zip or as many files; what would be saved is written here first.
pub fn ask(ctx: &egui::Context, what: DialogKind, from: Option<PathBuf>) -> Job<Option<PathBuf>> {
    if what == DialogKind::Save {
        let name = from.as_deref().map_or_else(|| "predictions.csv".into(), file_name);
        return Job::done("asking for a path", Ok(Some(Path::new(FILES).join(name))));
    }
    let (job, send) = Job::awaited("asking for a file");
    let wake = ctx.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let dialog = rfd::AsyncFileDialog::new();
        let chosen = match what {
            DialogKind::Folder => dialog.pick_files().await,
            _ => dialog.pick_file().await.map(|file| vec![file]),
        };
        let mut all = vec![];
        for file in chosen.unwrap_or_default() {
            all.push((file.file_name(), file.read().await));
        }
        let _ = send.send(put(all));
        wake.request_repaint();
    });
    job
}

/// Hands a file, or a folder as one zip, to the user.
///
/// # Errors
/// It cannot be read.
pub fn hand_over(path: &Path) -> Result<()> {
    let name = file_name(path);
    if fs::is_dir(path) {
        let packed = super::zip::pack(path)?;
        download(&format!("{name}.zip"), &packed, "application/zip");
    } else {
        let bytes = fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
        download(&name, &bytes, "application/octet-stream");
    }
    Ok(())
}

/// Shows a page of HTML in a tab of its own.
pub fn show(_ctx: &egui::Context, path: &Path) -> Job<()> {
    let read = fs::read(path).map_err(|e| Error::io(path, "read", &e));
    Job::done("opening", read.map(|bytes| show_bytes(&bytes, "text/html")))
}
