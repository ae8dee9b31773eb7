// A tile's operands in 16 bits, and the sums of its products on matrix units: squares of SIDE numbers, which a subgroup multiplies as one
// and adds in f32. Takes the place of tile_sums where a card has them (src/exec/gpu/matrices.rs): that writes the size of the
// squares, and each line with `sum_0` as often as a subgroup has squares to sum. A square beyond the last is the last once more. Builds on tile.

// Squares have no ends: what lies behind the last quadruple must be zero.
const ENDS_EARLY: bool = false;

alias MatrixA = coop_mat8x8<f16, A>;
alias MatrixB = coop_mat8x8<f16, B>;
alias MatrixC = coop_mat8x8<f32, C>;
const SIDE: u32 = 8u;

// Quadruples of a line, and two more: squares are read at multiples of sixteen bytes.
override LINE: u32 = TILE_M / 16u + 2u;
override A_MEMORY: u32 = TILE_M * LINE;
override B_MEMORY: u32 = TILE_N * LINE;
override C_MEMORY: u32 = TILE_M * SIDE_N;
override SQUARES_N: u32 = TILE_N / SIDE;
override SQUARES: u32 = TILE_M / SIDE * SQUARES_N;

var<workgroup> tile_a: array<vec4<f16>, A_MEMORY>;
var<workgroup> tile_b: array<vec4<f16>, B_MEMORY>;
var<workgroup> tile_c: array<vec4<f32>, C_MEMORY>;

// Which subgroup of its workgroup a lane belongs to, and of how many.
var<private> own_subgroup: u32;
var<private> subgroup_count: u32;
var<private> sum_0: MatrixC;

fn square(i: u32) -> u32 {
    return min(own_subgroup + i * subgroup_count, SQUARES - 1u);
}

fn clear_sums() {
    sum_0 = MatrixC();
}

// A round of the product, between two barriers. Rows of a square are lines of A, or columns of slices; columns are slices of
// B, or lines.
fn a_of_lines(square: u32, k: u32) -> MatrixA {
    return coopLoadT<MatrixA>(&tile_a[square / SQUARES_N * SIDE * LINE + k / 4u], LINE);
}
fn a_of_slices(square: u32, k: u32) -> MatrixA {
    return coopLoad<MatrixA>(&tile_a[k * SIDE_M + square / SQUARES_N * SIDE / 4u], SIDE_M);
}
fn b_of_lines(square: u32, k: u32) -> MatrixB {
    return coopLoad<MatrixB>(&tile_b[square % SQUARES_N * SIDE * LINE + k / 4u], LINE);
}
fn b_of_slices(square: u32, k: u32) -> MatrixB {
    return coopLoadT<MatrixB>(&tile_b[k * SIDE_N + square % SQUARES_N * SIDE / 4u], SIDE_N);
}
fn add_lines_slices() {
    for (var k = 0u; k < DEPTH; k += SIDE) {
        sum_0 = coopMultiplyAdd(a_of_lines(square(0u), k), b_of_slices(square(0u), k), sum_0);
    }
}
fn add_lines_lines() {
    for (var k = 0u; k < DEPTH; k += SIDE) {
        sum_0 = coopMultiplyAdd(a_of_lines(square(0u), k), b_of_lines(square(0u), k), sum_0);
    }
}
fn add_slices_slices() {
    for (var k = 0u; k < DEPTH; k += SIDE) {
        sum_0 = coopMultiplyAdd(a_of_slices(square(0u), k), b_of_slices(square(0u), k), sum_0);
    }
}

// The sums as threads have them: one block each. Lines stand in memory in the order of `line_at`, slices in their own.
fn place_of_square(square: u32) -> u32 {
    return square / SQUARES_N * SIDE * SIDE_N + square % SQUARES_N * SIDE / 4u;
}
fn store_sums() {
    coopStoreT(sum_0, &tile_c[place_of_square(square(0u))], SIDE_N);
    workgroupBarrier();
}
fn sums_lines_slices(lane: u32) -> Sums {
    store_sums();
    let at = lane / SIDE_N * SIDE_N + lane % SIDE_N;
    let step = SIDE_M * SIDE_N;
    let sums = mat4x4<f32>(tile_c[at], tile_c[at + step], tile_c[at + 2u * step], tile_c[at + 3u * step]);
    workgroupBarrier();
    return Sums(sums, mat4x4<f32>(), mat4x4<f32>(), mat4x4<f32>());
}
fn sums_lines_lines(lane: u32) -> Sums {
    store_sums();
    let at = lane / SIDE_N * SIDE_N;
    let step = SIDE_M * SIDE_N;
    let n = lane % SIDE_N;
    let sums = mat4x4<f32>(
        row_of_lines(at, n),
        row_of_lines(at + step, n),
        row_of_lines(at + 2u * step, n),
        row_of_lines(at + 3u * step, n),
    );
    workgroupBarrier();
    return Sums(sums, mat4x4<f32>(), mat4x4<f32>(), mat4x4<f32>());
}
// Columns 4 n to 4 n + 3 stand a side apart.
fn row_of_lines(at: u32, n: u32) -> vec4<f32> {
    let quad = at + n / 4u;
    let side = SIDE_N / 4u;
    let i = n % 4u;
    return vec4<f32>(tile_c[quad][i], tile_c[quad + side][i], tile_c[quad + 2u * side][i], tile_c[quad + 3u * side][i]);
}
fn sums_slices_slices(lane: u32) -> Sums {
    store_sums();
    let at = lane / SIDE_N * 4u * SIDE_N + lane % SIDE_N;
    let sums = mat4x4<f32>(tile_c[at], tile_c[at + SIDE_N], tile_c[at + 2u * SIDE_N], tile_c[at + 3u * SIDE_N]);
    workgroupBarrier();
    return Sums(sums, mat4x4<f32>(), mat4x4<f32>(), mat4x4<f32>());
}

// As in tile_sums.
fn column_sums(lane: u32, across: u32, collected: vec4<f32>) -> vec4<f32> {
    tile_c[lane] = collected;
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = lane % across; i < THREADS; i += across) {
        sum += tile_c[i];
    }
    return sum;
}
