// Quadruples of a convolution's operand A that a thread has loaded and not yet looked at, so that nothing waits for them before
// they are stored: whether each is inside of its image, of which image and channel it is. Builds on tile.
struct Loaded {
    quads: mat4x4<f32>,
    inside: vec4<bool>,
    images: vec4<u32>,
    channels: vec4<u32>,
}

// What is stored of them: outside of an image zero.
fn masked(a: Loaded) -> mat4x4<f32> {
    let none = vec4<f32>();
    var quads = mat4x4<f32>();
    quads[0] = select(none, a.quads[0], a.inside.x);
    if A_QUADS > 1u {
        quads[1] = select(none, a.quads[1], a.inside.y);
    }
    if A_QUADS > 2u {
        quads[2] = select(none, a.quads[2], a.inside.z);
        quads[3] = select(none, a.quads[3], a.inside.w);
    }
    return quads;
}
