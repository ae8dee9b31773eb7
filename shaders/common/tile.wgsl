// Matrix products through workgroup memory. A workgroup makes a tile [TILE_M, TILE_N] of the result, a thread 4 x 4 of it;
// a round brings DEPTH of the inner dimension. Memory holds quadruples, as the tensor has them: a matrix stands there by
// lines, a quadruple along the inner dimension, or by slices, a quadruple across it. Builds on index.
// The sums are those of tile_sums, or on matrix units of tile_matrix; both say how long a line is, LINE.
// A pipeline sets TILE_M and TILE_N (src/exec/gpu/variants.rs): 64 x 64, 32 x 32, 64 x 16.

override TILE_M: u32 = 64u;
override TILE_N: u32 = 64u;
override THREADS: u32 = TILE_M * TILE_N / 16u;
// So that each thread loads one quadruple of B a round, and A_QUADS of A.
override DEPTH: u32 = TILE_M / 4u;
override A_QUADS: u32 = TILE_M / TILE_N;
// Tiles across the result's rows and columns: how many threads stand there.
override SIDE_M: u32 = TILE_M / 4u;
override SIDE_N: u32 = TILE_N / 4u;
// Threads that load one line of A together.
override A_SHARE: u32 = TILE_N / 16u;

// Replica (or whatever is outermost), first row and first column of a workgroup's tile.
fn tile_at(i: u32, rows: u32, cols: u32) -> vec3<u32> {
    let m = div_ceil(rows, TILE_M);
    let n = div_ceil(cols, TILE_N);
    return vec3<u32>(i / (m * n), i / n % m * TILE_M, i % n * TILE_N);
}

// Where a line starts. The four lines of one thread stand a side apart, so that its neighbours' lines follow one another.
fn line_at(line: u32, side: u32) -> u32 {
    return (line % 4u * side + line / 4u) * LINE;
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
