//! The tile of a matrix product that a workgroup makes.

/// Rows and columns of a workgroup's tile, and how a thread works on it; `shaders/common/tile.wgsl` derives the rest from them as
/// done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    pub m: u32,
    pub n: u32,
    /// Blocks of 4 x 4 that a thread makes, across and down.
    pub edge: u32,
    /// `Product::whole`: what is read stands in whole quadruples.
    pub whole: bool,
}

impl Tile {
    pub fn threads(self) -> u32 {
        self.m * self.n / (16 * self.edge * self.edge)
    }
    /// The pipeline's constants.
    pub fn constants(self) -> [(&'static str, f64); 4] {
        let (m, n, edge) = (self.m.into(), self.n.into(), self.edge.into());
        [("TILE_M", m), ("TILE_N", n), ("EDGE", edge), ("WHOLE", f64::from(u8::from(self.whole)))]
    }
    /// "64x64", "64x64 whole".
    pub fn name(self) -> String {
        format!("{}x{}{}", self.m, self.n, if self.whole { " whole" } else { "" })
    }
    /// Steps of the inner dimension in a round.
    pub(in crate::exec::gpu) fn depth(self) -> u32 {
        self.m / (4 * self.edge)
    }
    pub(super) fn workgroup_bytes(self) -> u32 {
        (self.m + self.n) * (self.depth() / 4 + 1) * 16
    }
}
