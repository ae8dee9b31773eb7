// A tile's operands in workgroup memory and the sums of its products, 4 x 4 of a thread. Builds on tile.

// Quadruples of a line, and one more: lines that are read together lie in different banks.
override LINE: u32 = TILE_M / 16u + 1u;
override A_MEMORY: u32 = TILE_M * LINE;
override B_MEMORY: u32 = TILE_N * LINE;

var<workgroup> tile_a: array<vec4<f32>, A_MEMORY>;
var<workgroup> tile_b: array<vec4<f32>, B_MEMORY>;

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
