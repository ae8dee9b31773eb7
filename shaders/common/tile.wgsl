// Matrix products through workgroup memory. A workgroup makes a tile [TILE_M, TILE_N] of the result, a thread one block of 4 x 4
// of it, or four, EDGE across and down, half a tile apart. A round brings DEPTH of the inner dimension, the last one what is left; what
// the next one needs is loaded before its products are added: between there is no branch, behind which a compiler would put it. Memory holds quadruples, as the tensor has them: a matrix stands there by lines, a
// quadruple along the inner dimension, or by slices, a quadruple across it. Builds on index.
// The sums are those of tile_sums, or on matrix units of tile_matrix; both say how long a line is, LINE.
// A pipeline sets TILE_M, TILE_N, EDGE and WHOLE (src/exec/gpu/variants.rs).

override TILE_M: u32 = 64u;
override TILE_N: u32 = 64u;
override EDGE: u32 = 1u;
// All operands stand in whole quadruples: each is read at once, and zero is taken in its place without a branch.
override WHOLE: u32 = 0u;
override THREADS: u32 = TILE_M * TILE_N / (16u * EDGE * EDGE);
override DEPTH: u32 = TILE_M / (4u * EDGE);
// What a thread loads in a round.
override A_QUADS: u32 = EDGE * TILE_M / TILE_N;
override B_QUADS: u32 = EDGE;
// Quadruples across the result's rows and columns; threads across its columns.
override SIDE_M: u32 = TILE_M / 4u;
override SIDE_N: u32 = TILE_N / 4u;
override ACROSS: u32 = SIDE_N / EDGE;
// Threads that load one line together; slices that all threads load at a time.
override A_SHARE: u32 = THREADS / TILE_M;
override B_SHARE: u32 = THREADS / TILE_N;
override A_SLICES: u32 = THREADS / SIDE_M;
override B_SLICES: u32 = THREADS / SIDE_N;
// From a thread's first block to the others, in rows and columns.
override HALF_M: u32 = TILE_M / 2u;
override HALF_N: u32 = TILE_N / 2u;

// What a thread sums: its first block, and where it has four those beside, below and opposite.
struct Sums {
    first: mat4x4<f32>,
    beside: mat4x4<f32>,
    below: mat4x4<f32>,
    opposite: mat4x4<f32>,
}
// The same plus a row in the columns of the first block, and another in the others.
fn with_rows(sums: Sums, row: vec4<f32>, row_beside: vec4<f32>) -> Sums {
    let rows = mat4x4<f32>(row, row, row, row);
    let rows_beside = mat4x4<f32>(row_beside, row_beside, row_beside, row_beside);
    return Sums(sums.first + rows, sums.beside + rows_beside, sums.below + rows, sums.opposite + rows_beside);
}
// Row and column of a thread's first block.
fn own_place(tile: vec3<u32>, lane: u32) -> vec2<u32> {
    return tile.yz + vec2<u32>(lane / ACROSS, lane % ACROSS) * 4u;
}

// Replica (or whatever is outermost), first row and first column of a workgroup's tile.
fn tile_at(i: u32, rows: u32, cols: u32) -> vec3<u32> {
    let m = div_ceil(rows, TILE_M);
    let n = div_ceil(cols, TILE_N);
    return vec3<u32>(i / (m * n), i / n % m * TILE_M, i % n * TILE_N);
}

// Where a line starts. The four lines of one block stand a side apart, so that its neighbours' lines follow one another.
fn line_at(line: u32, side: u32) -> u32 {
    return (line % 4u * side + line / 4u) * LINE;
}

// What a thread has loaded: its quadruples stand `step` apart.
fn store_b(to: u32, step: u32, quads: mat2x4<f32>) {
    tile_b[to] = quads[0];
    if B_QUADS > 1u {
        tile_b[to + step] = quads[1];
    }
}
fn store_a(to: u32, step: u32, quads: mat4x4<f32>) {
    tile_a[to] = quads[0];
    if A_QUADS > 1u {
        tile_a[to + step] = quads[1];
    }
    if A_QUADS > 2u {
        tile_a[to + 2u * step] = quads[2];
        tile_a[to + 3u * step] = quads[3];
    }
}

// The same but for those that belong to line or slice `end` or one behind, which become zero; they stand `step` apart, from `first` on.
fn kept_a(quads: mat4x4<f32>, first: u32, step: u32, end: u32) -> mat4x4<f32> {
    let none = vec4<f32>();
    return mat4x4<f32>(
        select(none, quads[0], first < end),
        select(none, quads[1], first + step < end),
        select(none, quads[2], first + 2u * step < end),
        select(none, quads[3], first + 3u * step < end),
    );
}
fn kept_b(quads: mat2x4<f32>, first: u32, step: u32, end: u32) -> mat2x4<f32> {
    let none = vec4<f32>();
    return mat2x4<f32>(select(none, quads[0], first < end), select(none, quads[1], first + step < end));
}

// Quadruples of the inner dimension in so many steps of it.
fn quads_of(steps: u32) -> u32 {
    return (steps + 3u) / 4u;
}

// A place counted in mixed bases: x up to size.x, then y up to size.y, then z.
fn place_of(i: u32, size: vec2<u32>) -> vec3<u32> {
    return vec3<u32>(i % size.x, i / size.x % size.y, i / (size.x * size.y));
}
// The same, `by` steps on: no division, and rarely more than one turn.
fn ahead(place: vec3<u32>, by: u32, size: vec2<u32>) -> vec3<u32> {
    var to = place + vec3<u32>(by, 0u, 0u);
    while to.x >= size.x {
        to.x -= size.x;
        to.y += 1u;
        if to.y == size.y {
            to.y = 0u;
            to.z += 1u;
        }
    }
    return to;
}
