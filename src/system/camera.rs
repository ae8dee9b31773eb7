//! The cameras of this machine, through ffmpeg where it is installed: its frames come down a pipe, and the latest of them lies in a
//! folder of its own. ffmpeg ends with whoever reads the pipe.

use super::install::{Need, how};
use crate::base::clock::{Duration, Instant};
use crate::base::{fs, task};
use crate::error::{Error, Result};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a place in a list of cameras says, and how ffmpeg is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    input: String,
}

/// Where cameras are looked for, and with what.
#[derive(Debug, Clone)]
pub struct Cameras {
    pub program: PathBuf,
    /// The folder of the devices, on Linux.
    pub nodes: PathBuf,
}

impl Default for Cameras {
    fn default() -> Self {
        Cameras { program: "ffmpeg".into(), nodes: "/dev".into() }
    }
}

/// Frames per second that are asked for.
const RATE: &str = "15";
/// A camera that has not shown anything by then does not work.
const PATIENCE: Duration = Duration::from_secs(10);
/// A frame larger than this is none.
const MOST_BYTES: usize = 64 << 20;

fn none() -> Error {
    let help = "connect one, or let another program write its images to a folder and watch that";
    Error::usage("camera", "there is none on this machine", "", help)
}

impl Cameras {
    /// All that there are, at least one.
    ///
    /// # Errors
    /// There is no camera, or no ffmpeg.
    pub fn list(&self) -> Result<Vec<Device>> {
        let found = if cfg!(windows) {
            of_dshow(&self.said(&["-list_devices", "true", "-f", "dshow", "-i", "dummy"])?)
        } else if cfg!(target_os = "macos") {
            of_avfoundation(&self.said(&["-f", "avfoundation", "-list_devices", "true", "-i", ""])?)
        } else {
            self.of_nodes()
        };
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }

    fn missing(&self, e: &std::io::Error) -> Error {
        Error::run("camera", format!("{} cannot be started: {e}", self.program.display()), how(Need::Ffmpeg))
    }

    fn said(&self, args: &[&str]) -> Result<String> {
        let run = Command::new(&self.program).arg("-hide_banner").args(args).stdin(Stdio::null()).output();
        run.map(|out| String::from_utf8_lossy(&out.stderr).into_owned()).map_err(|e| self.missing(&e))
    }

    /// /dev/video0 and on, by their numbers. A camera has further nodes, which give no images: they stand behind.
    fn of_nodes(&self) -> Vec<Device> {
        let names = fs::read_dir(&self.nodes).into_iter().flatten().flatten().map(|e| e.file_name());
        let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix("video")?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = names.filter_map(number).collect();
        numbers.sort_unstable();
        let device = |n: u32| {
            let path = self.nodes.join(format!("video{n}")).display().to_string();
            let named = fs::read_to_string(format!("/sys/class/video4linux/video{n}/name"));
            let name = named.map_or(path.clone(), |name| format!("{} ({path})", name.trim()));
            Device { name, input: path }
        };
        numbers.into_iter().map(device).collect()
    }

    /// Waits until its first image has come.
    ///
    /// # Errors
    /// There is no ffmpeg, or the camera shows nothing: with the last words of ffmpeg.
    pub fn open(&self, device: &Device) -> Result<Camera> {
        let kind: &[&str] = match () {
            () if cfg!(windows) => &["-f", "dshow"],
            () if cfg!(target_os = "macos") => &["-f", "avfoundation", "-framerate", "30"],
            () => &["-f", "v4l2"],
        };
        let filter = format!("fps={RATE}");
        let dir = fs::Passing::new().map_err(|e| Error::io(&std::env::temp_dir(), "create a folder in", &e))?;
        let mut child = Command::new(&self.program)
            .args(["-hide_banner", "-loglevel", "error", "-nostdin"])
            .args(kind)
            .args([
                "-i",
                &device.input,
                "-an",
                "-vf",
                &filter,
                "-q:v",
                "3",
                "-c:v",
                "mjpeg",
                "-f",
                "image2pipe",
                "pipe:1",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| self.missing(&e))?;
        let state = Arc::new(State::default());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let camera = Camera { child, dir, state: state.clone() };
        let frame = camera.dir.path().join(FRAME);
        let (of_out, of_err) = (state.clone(), state);
        let reads = task::spawn("vifo camera", move || {
            if let Some(mut out) = out {
                of_out.read(&mut out, &frame);
            }
            of_out.ended.store(true, Ordering::Release);
        });
        let hears = task::spawn("vifo camera words", move || {
            let mut words = vec![];
            // A little of what it says is enough.
            let heard = err.map(|err| err.take(1 << 16).read_to_end(&mut words));
            drop(heard);
            *of_err.words.lock().unwrap_or_else(PoisonError::into_inner) = String::from_utf8_lossy(&words).into_owned();
            of_err.heard.store(true, Ordering::Release);
        });
        reads.and(hears).map_err(|e| Error::run("camera", e.to_string(), "close other programs"))?;
        let began = Instant::now();
        loop {
            if camera.frames() > 0 {
                return Ok(camera);
            }
            if let Some(e) = camera.ended(device) {
                return Err(e);
            }
            if began.elapsed() > PATIENCE {
                let help = "choose another camera, or close the program that uses it";
                return Err(Error::run(&device.name, "shows nothing", help));
            }
            task::pause(Duration::from_millis(20));
        }
    }
}

/// The file of the latest image.
const FRAME: &str = "camera.jpg";

#[derive(Default)]
struct State {
    frames: AtomicU64,
    ended: AtomicBool,
    /// What ffmpeg has said at its end.
    words: Mutex<String>,
    heard: AtomicBool,
}

impl State {
    fn read(&self, from: &mut impl Read, frame: &Path) {
        let (mut cut, mut block) = (Cut::default(), vec![0; 1 << 16]);
        while let Ok(n @ 1..) = from.read(&mut block) {
            let Some(image) = cut.take(&block[..n]) else { continue };
            // Whole for whoever looks, and not to outlast the machine. A full disk loses a frame: the next may have room.
            let part = frame.with_extension("part");
            if fs::write(&part, &image).and_then(|()| fs::rename(&part, frame)).is_ok() {
                self.frames.fetch_add(1, Ordering::Release);
            }
        }
    }
}

/// A stream of JPEG images, cut where each ends.
#[derive(Default)]
struct Cut {
    bytes: Vec<u8>,
}

impl Cut {
    /// The latest whole image, if one has come. In the data of an image 0xff never stands before 0xd9: that is its end.
    fn take(&mut self, more: &[u8]) -> Option<Vec<u8>> {
        let from = self.bytes.len().saturating_sub(1);
        self.bytes.extend_from_slice(more);
        let end = from + self.bytes[from..].windows(2).rposition(|w| w == [0xff, 0xd9]).map(|i| i + 2).unwrap_or(0);
        if end == from {
            if self.bytes.len() > MOST_BYTES {
                self.bytes.clear();
            }
            return None;
        }
        let rest = self.bytes.split_off(end);
        let whole = std::mem::replace(&mut self.bytes, rest);
        let start = whole.windows(3).rposition(|w| w == [0xff, 0xd8, 0xff])?;
        Some(whole[start..].to_vec())
    }
}

/// A camera that is on. Dropping it switches it off.
pub struct Camera {
    child: Child,
    dir: fs::Passing,
    state: Arc<State>,
}

impl Camera {
    /// Its latest image lies here.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// So many have come.
    pub fn frames(&self) -> u64 {
        self.state.frames.load(Ordering::Acquire)
    }

    /// Why it has ended, if it has.
    pub fn ended(&self, device: &Device) -> Option<Error> {
        let state = &self.state;
        if !(state.ended.load(Ordering::Acquire) && state.heard.load(Ordering::Acquire)) {
            return None;
        }
        let words = state.words.lock().unwrap_or_else(PoisonError::into_inner);
        let last = words.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or("ffmpeg ended without a word");
        let help = "connect it, choose another, or close the program that uses it";
        Some(Error::run(&device.name, last, help))
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of lines such as `[dshow @ 0x55] "Integrated Camera" (video)`; older ones say the kind in a line before.
fn of_dshow(said: &str) -> Vec<Device> {
    let mut all: Vec<Device> = vec![];
    let mut is_video = true;
    for line in said.lines() {
        if line.contains("DirectShow") {
            is_video = line.contains("video devices");
        }
        let Some((before, after)) = line.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')) else { continue };
        let of_kind = if after.contains('(') { after.contains("(video)") } else { is_video };
        if of_kind && !line.contains("Alternative name") {
            all.push(Device { name: before.into(), input: format!("video={before}") });
        }
    }
    all
}

/// Of lines such as `[AVFoundation indev @ 0x7f] [0] FaceTime HD Camera`, between the headings of video and of audio.
fn of_avfoundation(said: &str) -> Vec<Device> {
    let lines = said.lines().skip_while(|l| !l.contains("video devices")).skip(1);
    let of_video = lines.take_while(|l| !l.contains("audio devices"));
    let device = |line: &str| {
        let (_, rest) = line.split_once("] [")?;
        let (number, name) = rest.split_once("] ")?;
        number.parse::<u32>().ok()?;
        Some(Device { name: name.trim().into(), input: number.into() })
    };
    of_video.filter_map(device).filter(|d| !d.name.starts_with("Capture screen")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_where_images_end_however_it_comes() {
        let image = |fill: u8| [&[0xff, 0xd8, 0xff, 0xe0][..], &[fill; 40], &[0xff, 0xd9]].concat();
        let all = [image(1), image(2), image(3)].concat();
        for size in [1, 2, 7, 45, 46, 47, 200] {
            let (mut cut, mut last) = (Cut::default(), None);
            let mut images = 0;
            for block in all.chunks(size) {
                if let Some(whole) = cut.take(block) {
                    (images, last) = (images + 1, Some(whole));
                }
            }
            assert_eq!(last, Some(image(3)), "blocks of {size}");
            assert!(images == 3 || size > 46, "{images} of blocks of {size}");
            assert!(cut.bytes.is_empty());
        }
        assert_eq!(Cut::default().take(&[0xff, 0xd9]), None, "the end of what never began");
    }

    #[test]
    fn cameras_are_read_from_what_ffmpeg_says() {
        let said = "[dshow @ 000001] \"Integrated Camera\" (video)\n[dshow @ 000001]   Alternative name \"@device_pnp_x\"\n\
                    [dshow @ 000001] \"Microphone (Realtek)\" (audio)\ndummy: Immediate exit requested\n";
        let names = |all: Vec<Device>| all.into_iter().map(|d| (d.name, d.input)).collect::<Vec<_>>();
        let camera = || vec![("Integrated Camera".to_string(), "video=Integrated Camera".to_string())];
        assert_eq!(names(of_dshow(said)), camera());
        let old = "[dshow @ 01] DirectShow video devices\n[dshow @ 01]  \"Integrated Camera\"\n[dshow @ 01] DirectShow audio devices\n\
                   [dshow @ 01]  \"Microphone\"\n";
        assert_eq!(names(of_dshow(old)), camera());
        let mac = "[AVFoundation indev @ 0x1] AVFoundation video devices:\n[AVFoundation indev @ 0x1] [0] FaceTime HD Camera\n\
                   [AVFoundation indev @ 0x1] [1] Capture screen 0\n[AVFoundation indev @ 0x1] AVFoundation audio devices:\n\
                   [AVFoundation indev @ 0x1] [0] Built-in Microphone\n";
        assert_eq!(names(of_avfoundation(mac)), [("FaceTime HD Camera".to_string(), "0".to_string())]);
    }

    #[test]
    fn without_a_camera_or_ffmpeg_a_line_says_what_to_do() {
        let dir = tempfile::tempdir().expect("a folder");
        let cameras = Cameras { program: dir.path().join("no-ffmpeg"), nodes: dir.path().into() };
        let said = cameras.list().expect_err("none").to_string();
        assert!(!said.contains('\n'), "{said}");
        let device = Device { name: "camera".into(), input: "video0".into() };
        let Err(said) = cameras.open(&device) else { panic!("no ffmpeg") };
        assert!(said.to_string().contains(how(Need::Ffmpeg)), "{said}");
    }
}
