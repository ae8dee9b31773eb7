//! Images as inputs: their size, how bytes become numbers, and how training images are varied. Bytes stay bytes until a batch
//! is gathered. Must not know how a set is stored.

use crate::error::{Error, Result, either};
use serde::{Deserialize, Serialize};

/// What a run remembers of its images; statistics are of the training images, in units where 255 is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pixels {
    pub h: usize,
    pub w: usize,
    /// 1 (grey) or 3.
    pub c: usize,
    pub mean: Vec<f32>,
    /// Above 0.
    pub sd: Vec<f32>,
    /// Smallest and largest byte of each channel: the range of auxiliary inputs.
    pub low: Vec<u8>,
    pub high: Vec<u8>,
    /// Training images are shifted by up to this many pixels, dark where nothing is.
    pub crop: u32,
    /// Training images are mirrored left to right with probability one half.
    pub flip: bool,
    /// "CIFAR-10 binary", for label maps between sets.
    pub format: String,
}

impl Pixels {
    /// What is done to the training images, in words.
    pub(crate) fn augmentation(&self) -> Result<String> {
        let most = self.h.min(self.w) as u32 / 2;
        if self.crop > most {
            let found = format!("{} for images of {} x {}", self.crop, self.h, self.w);
            let allowed = format!("0 to {most}, half a side");
            return Err(Error::usage(
                either("data.crop", "shift"),
                found,
                allowed,
                "a larger shift would move images out of sight",
            ));
        }
        Ok(match (self.crop, self.flip) {
            (0, false) => either(
                "training images are used as they are (data.crop, data.flip)",
                "training images are used as they are",
            ),
            (0, true) => {
                either("training images are mirrored at random (data.flip)", "training images are mirrored at random")
            }
            (n, false) => {
                format!("training images are shifted at random by up to {n} pixels{}", either(" (data.crop)", ""))
            }
            (n, true) => {
                let keys = either(" (data.crop, data.flip)", "");
                format!("training images are shifted at random by up to {n} pixels and mirrored{keys}")
            }
        })
    }

    /// Numbers of an image.
    pub fn len(&self) -> usize {
        self.h * self.w * self.c
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [min - d/2, max + d/2] with d = max - min, per channel (MATH.md section 2), for every pixel.
    pub fn aux_range(&self) -> (Vec<f32>, Vec<f32>) {
        let end = |c: usize, sign: f32| {
            let (low, high) = (f32::from(self.low[c]), f32::from(self.high[c]));
            let at = if sign < 0.0 { low - (high - low) / 2.0 } else { high + (high - low) / 2.0 };
            (at / 255.0 - self.mean[c]) / self.sd[c]
        };
        let one = |sign: f32| (0..self.c).map(|c| end(c, sign)).collect::<Vec<_>>().repeat(self.h * self.w);
        (one(-1.0), one(1.0))
    }

    /// "32 x 32, colour".
    pub fn describe(&self) -> String {
        format!("images of {} x {}, {}", self.h, self.w, if self.c == 1 { "grey" } else { "colour" })
    }
}
