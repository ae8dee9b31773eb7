// Matrix products through workgroup memory. A workgroup makes a tile [TILE_M, TILE_N] of the result, a thread 4 x 4 of it;
// a round brings DEPTH of the inner dimension. Memory holds quadruples, as the tensor has them: a matrix stands there by
// lines, a quadruple along the inner dimension, or by slices, a quadruple across it. Builds on index.
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
// Quadruples of a line, and one more: lines that are read together lie in different banks.
override LINE: u32 = TILE_M / 16u + 1u;
// Threads that load one line of A together.
override A_SHARE: u32 = TILE_N / 16u;
override A_MEMORY: u32 = TILE_M * LINE;
override B_MEMORY: u32 = TILE_N * LINE;

var<workgroup> tile_a: array<vec4<f32>, A_MEMORY>;
var<workgroup> tile_b: array<vec4<f32>, B_MEMORY>;

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

// What thread m (of SIDE_M) or n (of SIDE_N) reads for four steps of the inner dimension.
fn lines_of_a(m: u32, quad: u32) -> mat4x4<f32> {
    let at = m * LINE + quad;
    let step = SIDE_M * LINE;
    return mat4x4<f32>(tile_a[at], tile_a[at + step], tile_a[at + 2u * step], tile_a[at + 3u * step]);
}
fn lines_of_b(n: u32, quad: u32) -> mat4x4<f32> {
    let at = n * LINE + quad;
    let step = SIDE_N * LINE;
    return mat4x4<f32>(tile_b[at], tile_b[at + step], tile_b[at + 2u * step], tile_b[at + 3u * step]);
}
fn slices_of_a(m: u32, quad: u32) -> mat4x4<f32> {
    let at = quad * TILE_M + m;
    return mat4x4<f32>(tile_a[at], tile_a[at + SIDE_M], tile_a[at + 2u * SIDE_M], tile_a[at + 3u * SIDE_M]);
}
fn slices_of_b(n: u32, quad: u32) -> mat4x4<f32> {
    let at = quad * TILE_N + n;
    return mat4x4<f32>(tile_b[at], tile_b[at + SIDE_N], tile_b[at + 2u * SIDE_N], tile_b[at + 3u * SIDE_N]);
}

// One row of the result: its sum so far, four numbers of A's line, four slices of B. Written out, because a product of
// matrices would be added as a whole and lose the fused additions.
fn add_row(sum: vec4<f32>, a: vec4<f32>, b: mat4x4<f32>) -> vec4<f32> {
    return sum + a.x * b[0] + a.y * b[1] + a.z * b[2] + a.w * b[3];
}
fn add_rows(sums: mat4x4<f32>, a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(
        add_row(sums[0], a[0], b),
        add_row(sums[1], a[1], b),
        add_row(sums[2], a[2], b),
        add_row(sums[3], a[3], b),
    );
}

// A round of the product, between two barriers: A by lines and B by slices, both by lines, both by slices.
fn add_lines_slices(so_far: mat4x4<f32>, lane: u32) -> mat4x4<f32> {
    var sums = so_far;
    for (var quad = 0u; quad < DEPTH / 4u; quad++) {
        sums = add_rows(sums, lines_of_a(lane / SIDE_N, quad), slices_of_b(lane % SIDE_N, quad));
    }
    return sums;
}
fn add_lines_lines(so_far: mat4x4<f32>, lane: u32) -> mat4x4<f32> {
    var sums = so_far;
    for (var quad = 0u; quad < DEPTH / 4u; quad++) {
        sums = add_rows(sums, lines_of_a(lane / SIDE_N, quad), transpose(lines_of_b(lane % SIDE_N, quad)));
    }
    return sums;
}
fn add_slices_slices(so_far: mat4x4<f32>, lane: u32) -> mat4x4<f32> {
    var sums = so_far;
    for (var quad = 0u; quad < DEPTH / 4u; quad++) {
        sums = add_rows(sums, transpose(slices_of_a(lane / SIDE_N, quad)), slices_of_b(lane % SIDE_N, quad));
    }
    return sums;
}

// Sums of B's columns that the threads collected from the quadruples that they loaded: lane n < SIDE_N gets those of
// columns 4 n to 4 n + 3. Every lane must call it.
fn column_sums(lane: u32, collected: vec4<f32>) -> vec4<f32> {
    tile_b[lane] = collected;
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = lane % SIDE_N; i < THREADS; i += SIDE_N) {
        sum += tile_b[i];
    }
    return sum;
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
