// What batch normalisation and its activation do to each channel of a convolution's input, kept in workgroup memory. Builds on
// activation and tile. The module has `conv_params`, `conv_weights`, `conv_stats` and `conv_args`; channels come in quadruples.

const MOST_QUADS: u32 = 32u;
// Of data and of auxiliary images: mean, gamma / sd, beta [2, 3, c / 4].
var<workgroup> norm_table: array<vec4<f32>, 6u * MOST_QUADS>;
// The replica's first auxiliary image.
var<private> first_auxiliary: u32;

// Four weights, wherever they stand.
fn norm_weights(at: u32) -> vec4<f32> {
    return vec4<f32>(
        conv_weights[at / 4u][at % 4u],
        conv_weights[(at + 1u) / 4u][(at + 1u) % 4u],
        conv_weights[(at + 2u) / 4u][(at + 2u) % 4u],
        conv_weights[(at + 3u) / 4u][(at + 3u) % 4u],
    );
}

// Every lane must call it, and reads the table only after it.
fn fill_norm_table(r: u32, lane: u32) {
    let p = conv_params;
    let quads = p.c_in / 4u;
    first_auxiliary = r * p.batch + p.data_images;
    if p.normed == 1u {
        for (var i = lane; i < 2u * quads; i += THREADS) {
            let part = i / quads;
            let s = (r * 2u + part) * 2u * quads + i % quads;
            let w = r * p.weights_stride + i % quads * 4u;
            let to = part * 3u * quads + i % quads;
            norm_table[to] = conv_stats[s];
            norm_table[to + quads] = conv_stats[s + quads] * norm_weights(w + p.gamma);
            norm_table[to + 2u * quads] = norm_weights(w + p.beta);
        }
    }
    workgroupBarrier();
}

// Where the channels from `channel` on stand in the table, of an image among those of all replicas.
fn norm_at(image: u32, channel: u32) -> u32 {
    return select(0u, 3u * (conv_params.c_in / 4u), image >= first_auxiliary) + channel / 4u;
}

fn normed(x: vec4<f32>, at: u32) -> vec4<f32> {
    let quads = conv_params.c_in / 4u;
    let z = (x - norm_table[at]) * norm_table[at + quads] + norm_table[at + 2u * quads];
    return activate_quad(conv_params.activation, z);
}

// Groups of images that have statistics of their own. Without auxiliary images nobody reads those of the second.
fn kinds() -> u32 {
    return select(1u, 2u, conv_params.batch > conv_params.data_images);
}

// What combines the sums of many tiles: threads of a workgroup, and their sum by a fixed tree.
const COMBINING: u32 = 256u;
var<workgroup> combine_tree: array<vec4<f32>, 256>;

// Every lane must call it and gets the sum.
fn combined(lane: u32, value: vec4<f32>) -> vec4<f32> {
    combine_tree[lane] = value;
    workgroupBarrier();
    for (var width = COMBINING / 2u; width > 0u; width /= 2u) {
        if lane < width {
            combine_tree[lane] += combine_tree[lane + width];
        }
        workgroupBarrier();
    }
    let sum = combine_tree[0];
    workgroupBarrier();
    return sum;
}
