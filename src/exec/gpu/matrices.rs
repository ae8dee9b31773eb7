//! Products on a card's matrix units: the text of a tiled kernel whose operands are halves, with the sums of
//! shaders/common/tile_matrix.wgsl in place of tile_sums. What is computed is the same: products of halves, added in f32.

use super::halves::{Halves, Rewriting, arrays_of, conversions};
use super::variants::Tile;

/// How a tile is summed on matrix units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Rows and columns of a square.
    pub side: u32,
    /// Squares that a subgroup sums.
    pub sums: u32,
}

/// Squares that a subgroup can keep.
const MOST_SUMS: u32 = 8;

impl Matrix {
    /// Of a tile, with squares of that side, in subgroups of so many lanes at most; None where the tile cannot be cut so.
    pub fn of(tile: Tile, side: u32, lanes: u32) -> Option<Matrix> {
        let is_whole = tile.edge == 1 && tile.depth().is_multiple_of(side) && tile.n.is_multiple_of(side);
        let subgroups = tile.threads() / lanes.max(1);
        let squares = tile.m / side * (tile.n / side);
        let sums = if subgroups == 0 { MOST_SUMS + 1 } else { squares.div_ceil(subgroups) };
        (is_whole && sums <= MOST_SUMS).then_some(Matrix { side, sums })
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_bytes(tile: Tile) -> u32 {
        (tile.m + tile.n) * (tile.m / 16 + 2) * 8 + tile.m * tile.n * 4
    }
}

const SUMS: &str = include_str!(concat!(env!("OUT_DIR"), "/shaders/common/tile_sums.wgsl"));
const ON_MATRICES: &str = include_str!(concat!(env!("OUT_DIR"), "/shaders/common/tile_matrix.wgsl"));

/// The composed shader of a tiled kernel with halves at these bindings.
pub fn on_matrices(composed: &str, halves: Halves, matrix: Matrix) -> String {
    let (text, mut arrays) = arrays_of(&composed.replace(SUMS, ""), halves);
    arrays.extend(["tile_a", "tile_b"].map(|name| (name.to_string(), true)));
    let text = Rewriting { arrays }.all(&text);
    let lane = "    @builtin(local_invocation_index) lane: u32,\n) {\n";
    let with_subgroup = "    @builtin(local_invocation_index) lane: u32,\n    @builtin(subgroup_id) subgroup: u32,\n    \
                         @builtin(num_subgroups) subgroups: u32,\n) {\n    own_subgroup = subgroup;\n    subgroup_count = subgroups;\n";
    let text = text.replace(lane, with_subgroup);
    let start = "    var sums = Sums();\n";
    let text = text.replace(start, &format!("{start}    clear_sums();\n"));
    let text =
        ["lines_slices", "lines_lines", "slices_slices"].into_iter().fold(text, |text, of| behind_loops(&text, of));
    format!("enable f16;\nenable wgpu_cooperative_matrix;\n{}{}\n{text}", conversions(), sized(ON_MATRICES, matrix))
}

/// Rounds are summed in the matrices, the last one as every other; behind it threads get their part.
fn behind_loops(text: &str, of: &str) -> String {
    let text = text.replace(&format!("sums = add_{of}(sums, lane);"), &format!("add_{of}();"));
    let last = format!("sums = add_last_{of}(sums, lane, ");
    let mut parts = text.split(&last);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // How many quadruples the round has.
        let part = part.split_once(';').map_or(part, |(_, rest)| rest);
        let end = "\n    }\n";
        let (rest, behind) = part.split_once(end).unwrap_or((part, ""));
        out.push_str(&format!("add_{of}();{rest}{end}    sums = sums_{of}(lane);\n{behind}"));
    }
    out
}

/// The fragment for squares of another size, and for so many sums.
fn sized(fragment: &str, matrix: Matrix) -> String {
    let (from, to) = ("coop_mat8x8", format!("coop_mat{0}x{0}", matrix.side));
    let text = fragment.replace(from, &to).replace("SIDE: u32 = 8u", &format!("SIDE: u32 = {}u", matrix.side));
    let mut lines = vec![];
    for line in text.lines() {
        let is_sum = line.contains("sum_0") && !line.starts_with("//");
        for i in 0..if is_sum { matrix.sums } else { 1 } {
            lines.push(line.replace("sum_0", &format!("sum_{i}")).replace("square(0u)", &format!("square({i}u)")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::gpu::variants::Variant;

    /// A subgroup of NVIDIA's has two squares of 16 of the large tile, one of 8 lanes two squares of 8; a small tile has no 16 steps.
    #[test]
    fn tiles_are_cut_into_squares() {
        let [tall, large, small, narrow] =
            [Variant::Tile128x64, Variant::Tile64x64, Variant::Tile32x32, Variant::Tile64x16]
                .map(|v| v.tile().expect("a tile"));
        assert_eq!(Matrix::of(large, 16, 32), Some(Matrix { side: 16, sums: 2 }));
        assert_eq!(Matrix::of(large, 8, 8), Some(Matrix { side: 8, sums: 2 }));
        assert_eq!(Matrix::of(narrow, 16, 64), Some(Matrix { side: 16, sums: 4 }));
        assert_eq!(Matrix::of(small, 8, 8), Some(Matrix { side: 8, sums: 2 }));
        assert_eq!(Matrix::of(small, 16, 32), None);
        assert_eq!(Matrix::of(large, 8, 64), None, "16 sums are too many");
        assert_eq!(Matrix::of(narrow, 16, 128), None, "less than a subgroup");
        assert_eq!(Matrix::of(tall, 16, 32), None, "four blocks of a thread");
    }

    #[test]
    fn each_sum_has_its_line() {
        let text =
            sized("alias C = coop_mat8x8<f32, C>;\n    sum_0 = f(square(0u), sum_0);\n", Matrix { side: 16, sums: 2 });
        let want =
            "alias C = coop_mat16x16<f32, C>;\n    sum_0 = f(square(0u), sum_0);\n    sum_1 = f(square(1u), sum_1);";
        assert_eq!(text, want);
    }
}
