// Sum over the 64 lanes of a workgroup by a fixed tree, so that a run repeats itself bit for bit.

var<workgroup> tree: array<vec4<f32>, 64>;

// Every lane must call it; every lane gets the sum.
fn tree_sum(lane: u32, value: vec4<f32>) -> vec4<f32> {
    tree[lane] = value;
    workgroupBarrier();
    for (var width = 32u; width > 0u; width /= 2u) {
        if lane < width {
            tree[lane] += tree[lane + width];
        }
        workgroupBarrier();
    }
    let sum = tree[0];
    // A second call would overwrite the root while slower lanes still read it.
    workgroupBarrier();
    return sum;
}
