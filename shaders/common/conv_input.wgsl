// The input of a convolution as it is stored. Builds on conv_loaded. The module says what becomes of a quadruple: `as_read`.

// What is stored of what was loaded of the input.
fn finished(a: Loaded) -> mat4x4<f32> {
    var read = a;
    read.quads[0] = as_read(a.quads[0], a.images.x, a.channels.x);
    if A_QUADS > 1u {
        read.quads[1] = as_read(a.quads[1], a.images.y, a.channels.y);
    }
    if A_QUADS > 2u {
        read.quads[2] = as_read(a.quads[2], a.images.z, a.channels.z);
        read.quads[3] = as_read(a.quads[3], a.images.w, a.channels.w);
    }
    return masked(read);
}
