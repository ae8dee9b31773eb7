// A tile's operands in workgroup memory and the sums of its products. Builds on tile.

// Quadruples of a line, and one more: lines that are read together lie in different banks.
override LINE: u32 = DEPTH / 4u + 1u;
override A_MEMORY: u32 = TILE_M * LINE;
override B_MEMORY: u32 = TILE_N * LINE;

var<workgroup> tile_a: array<vec4<f32>, A_MEMORY>;
var<workgroup> tile_b: array<vec4<f32>, B_MEMORY>;

// Rounds of fewer quadruples than fit: what lies behind them in memory is not read.
const ENDS_EARLY: bool = true;

// What a thread reads of one block for four steps of the inner dimension.
override A_LINES: u32 = SIDE_M * LINE;
override B_LINES: u32 = SIDE_N * LINE;
fn lines_of_a(at: u32) -> mat4x4<f32> {
    return mat4x4<f32>(tile_a[at], tile_a[at + A_LINES], tile_a[at + 2u * A_LINES], tile_a[at + 3u * A_LINES]);
}
fn lines_of_b(at: u32) -> mat4x4<f32> {
    return mat4x4<f32>(tile_b[at], tile_b[at + B_LINES], tile_b[at + 2u * B_LINES], tile_b[at + 3u * B_LINES]);
}
fn slices_of_a(at: u32) -> mat4x4<f32> {
    return mat4x4<f32>(tile_a[at], tile_a[at + SIDE_M], tile_a[at + 2u * SIDE_M], tile_a[at + 3u * SIDE_M]);
}
fn slices_of_b(at: u32) -> mat4x4<f32> {
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

// A round of the product, between two barriers: A by lines and B by slices, both by lines, both by slices. Its places but the thread's
// own are constants. The last round may have fewer quadruples.
fn add_lines_slices(sums: Sums, lane: u32) -> Sums {
    let a = lane / ACROSS * LINE;
    let b = lane % ACROSS;
    let half = lines_slices(lines_slices(sums, a, b, 0u), a, b, 1u);
    if DEPTH == 8u {
        return half;
    }
    return lines_slices(lines_slices(half, a, b, 2u), a, b, 3u);
}
fn add_last_lines_slices(so_far: Sums, lane: u32, quads: u32) -> Sums {
    var sums = so_far;
    for (var quad = 0u; quad < quads; quad++) {
        sums = lines_slices(sums, lane / ACROSS * LINE, lane % ACROSS, quad);
    }
    return sums;
}
fn lines_slices(so_far: Sums, a_at: u32, b_at: u32, quad: u32) -> Sums {
    var sums = so_far;
    let a = lines_of_a(a_at + quad);
    let b = slices_of_b(b_at + quad * TILE_N);
    sums.first = add_rows(sums.first, a, b);
    if EDGE > 1u {
        let b_beside = slices_of_b(b_at + ACROSS + quad * TILE_N);
        sums.beside = add_rows(sums.beside, a, b_beside);
        let a_below = lines_of_a(a_at + SIDE_M / 2u * LINE + quad);
        sums.below = add_rows(sums.below, a_below, b);
        sums.opposite = add_rows(sums.opposite, a_below, b_beside);
    }
    return sums;
}
fn add_lines_lines(sums: Sums, lane: u32) -> Sums {
    let a = lane / ACROSS * LINE;
    let b = lane % ACROSS * LINE;
    let half = lines_lines(lines_lines(sums, a, b, 0u), a, b, 1u);
    if DEPTH == 8u {
        return half;
    }
    return lines_lines(lines_lines(half, a, b, 2u), a, b, 3u);
}
fn add_last_lines_lines(so_far: Sums, lane: u32, quads: u32) -> Sums {
    var sums = so_far;
    for (var quad = 0u; quad < quads; quad++) {
        sums = lines_lines(sums, lane / ACROSS * LINE, lane % ACROSS * LINE, quad);
    }
    return sums;
}
fn lines_lines(so_far: Sums, a_at: u32, b_at: u32, quad: u32) -> Sums {
    var sums = so_far;
    let a = lines_of_a(a_at + quad);
    let b = transpose(lines_of_b(b_at + quad));
    sums.first = add_rows(sums.first, a, b);
    if EDGE > 1u {
        let b_beside = transpose(lines_of_b(b_at + ACROSS * LINE + quad));
        sums.beside = add_rows(sums.beside, a, b_beside);
        let a_below = lines_of_a(a_at + SIDE_M / 2u * LINE + quad);
        sums.below = add_rows(sums.below, a_below, b);
        sums.opposite = add_rows(sums.opposite, a_below, b_beside);
    }
    return sums;
}
fn add_slices_slices(sums: Sums, lane: u32) -> Sums {
    let a = lane / ACROSS;
    let b = lane % ACROSS;
    let half = slices_slices(slices_slices(sums, a, b, 0u), a, b, 1u);
    if DEPTH == 8u {
        return half;
    }
    return slices_slices(slices_slices(half, a, b, 2u), a, b, 3u);
}
fn add_last_slices_slices(so_far: Sums, lane: u32, quads: u32) -> Sums {
    var sums = so_far;
    for (var quad = 0u; quad < quads; quad++) {
        sums = slices_slices(sums, lane / ACROSS, lane % ACROSS, quad);
    }
    return sums;
}
fn slices_slices(so_far: Sums, a_at: u32, b_at: u32, quad: u32) -> Sums {
    var sums = so_far;
    let a = transpose(slices_of_a(a_at + quad * TILE_M));
    let b = slices_of_b(b_at + quad * TILE_N);
    sums.first = add_rows(sums.first, a, b);
    if EDGE > 1u {
        let b_beside = slices_of_b(b_at + ACROSS + quad * TILE_N);
        sums.beside = add_rows(sums.beside, a, b_beside);
        let a_below = transpose(slices_of_a(a_at + SIDE_M / 2u + quad * TILE_M));
        sums.below = add_rows(sums.below, a_below, b);
        sums.opposite = add_rows(sums.opposite, a_below, b_beside);
    }
    return sums;
}

// Sums over lanes that are `across` apart, of what each has collected of its columns: SIDE_N apart where it loaded them, ACROSS where
// it made them. Every lane must call it.
fn column_sums(lane: u32, across: u32, collected: vec4<f32>) -> vec4<f32> {
    tile_b[lane] = collected;
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = lane % across; i < THREADS; i += across) {
        sum += tile_b[i];
    }
    return sum;
}
