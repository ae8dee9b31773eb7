//! The tile of a matrix product that a workgroup makes.

/// Rows and columns of a workgroup's tile; `shaders/common/tile.wgsl` derives the rest from them as done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tile {
    pub m: u32,
    pub n: u32,
}

impl Tile {
    pub fn threads(self) -> u32 {
        self.m * self.n / 16
    }
    /// The pipeline's constants.
    pub fn constants(self) -> [(&'static str, f64); 2] {
        [("TILE_M", self.m.into()), ("TILE_N", self.n.into())]
    }
    /// Steps of the inner dimension in a round.
    pub(in crate::exec::gpu) fn depth(self) -> u32 {
        self.m / 4
    }
    pub(super) fn workgroup_bytes(self) -> u32 {
        (self.m + self.n) * (self.m / 16 + 1) * 16
    }
}
