// The gamma function's logarithm and its derivatives for x >= 1: upward by recurrence, then the asymptotic series, as long as
// f32 can see them (the first term left out is below 1e-9). Twins in src/base/gamma.rs. Builds on math.

const GAMMA_FAR: f32 = 8.0;

fn ln_gamma(first: f32) -> f32 {
    var x = first;
    var product = 1.0;
    // At most seven times, whatever x is.
    for (var i = 0u; i < 8u && x < GAMMA_FAR; i++) {
        product *= x;
        x += 1.0;
    }
    let r = 1.0 / x;
    let y = r * r;
    let tail = 1.0 / 12.0 + y * (-1.0 / 360.0 + y * (1.0 / 1260.0 - y * (1.0 / 1680.0)));
    return (x - 0.5) * log(x) - x + HALF_LOG_TAU + r * tail - log(product);
}

fn digamma(first: f32) -> f32 {
    var x = first;
    var sum = 0.0;
    for (var i = 0u; i < 8u && x < GAMMA_FAR; i++) {
        sum += 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / x;
    let y = r * r;
    let tail = 1.0 / 12.0 + y * (-1.0 / 120.0 + y * (1.0 / 252.0 - y * (1.0 / 240.0)));
    return log(x) - 0.5 * r - y * tail - sum;
}

fn trigamma(first: f32) -> f32 {
    var x = first;
    var sum = 0.0;
    for (var i = 0u; i < 8u && x < GAMMA_FAR; i++) {
        let r = 1.0 / x;
        sum += r * r;
        x += 1.0;
    }
    let r = 1.0 / x;
    let y = r * r;
    let tail = 1.0 / 6.0 + y * (-1.0 / 30.0 + y * (1.0 / 42.0 - y * (1.0 / 30.0)));
    return sum + r + 0.5 * y + r * y * tail;
}
