// The regularizers' formulas (MATH.md section 3), shared by the VIFO head and weight-space VI. Stands behind math and step.

const REG_NONE: u32 = 0u;
const REG_NAIVE: u32 = 1u;
const REG_MEAN: u32 = 2u;
const REG_MV: u32 = 3u;
const REG_EB: u32 = 4u;
const REG_MEAN_ALL: u32 = 5u;
const REG_MV_ALL: u32 = 6u;
const REG_EB_ALL: u32 = 7u;

const SIGMA_SOFTPLUS: u32 = 0u;
const SIGMA_EXP: u32 = 1u;
const SIGMA_MIN: f32 = 1e-6;

// (sigma, d sigma / d rho); the slope is 0 where the floor holds.
fn sigma(link: u32, rho: f32) -> vec2<f32> {
    var s: vec2<f32>;
    if link == SIGMA_EXP {
        s = vec2<f32>(exp(rho));
    } else {
        s = vec2<f32>(softplus(rho), sigmoid(rho));
    }
    return select(s, vec2<f32>(SIGMA_MIN, 0.0), s.x < SIGMA_MIN);
}

// w* of eb: f(S) = D log w + S / w, w = (S + 2 beta) / (D + 2 alpha + 2). Returns (f, df/dS).
fn eb_energy(prior: Prior, dims: f32, s: f32) -> vec2<f32> {
    let c = dims + 2.0 * prior.p0 + 2.0;
    let w = (s + 2.0 * prior.p1) / c;
    return vec2<f32>(dims * log(w) + s / w, dims / (w * c) + 1.0 / w - s / (w * w * c));
}

// naive, mean, mv in one dimension: (value without the constant, d/dmu, d/ds2).
fn separable(kind: u32, p: Prior, mu: f32, s2: f32) -> vec3<f32> {
    let half_log = 0.5 * log(s2);
    let inverse = 0.5 / s2;
    if kind == REG_NAIVE {
        let v = 1.0 / p.p0;
        return vec3<f32>(0.5 * v * (s2 + mu * mu) - half_log, v * mu, 0.5 * v - inverse);
    }
    if kind == REG_MEAN {
        let g = 1.0 / p.p0;
        return vec3<f32>(0.5 * g * (s2 + p.p1 * mu * mu) - half_log, g * p.p1 * mu, 0.5 * g - inverse);
    }
    let q = p.p1 + 0.5 * p.p2 * mu * mu + 0.5 * s2;
    let a = (p.p0 + 0.5) / q;
    return vec3<f32>((p.p0 + 0.5) * log(q) - half_log, a * p.p2 * mu, 0.5 * a - inverse);
}

// Any kind in one dimension. `moments` = this column's means of mu, mu^2, s2 (the "_all" kinds), `df` = the slope of
// eb_energy (the eb kinds, whose 1/2 f the caller adds once).
fn reg_term(kind: u32, p: Prior, mu: f32, s2: f32, moments: vec3<f32>, df: f32) -> vec3<f32> {
    if kind <= REG_MV {
        return separable(kind, p, mu, s2);
    }
    let half_log = 0.5 * log(s2);
    let inverse = 1.0 / s2;
    if kind == REG_MEAN_ALL {
        let g = 1.0 / p.p0;
        let shrink = g - g * p.p1;
        let value = 0.5 * g * (s2 + mu * mu) - half_log - 0.5 * shrink * moments.x * moments.x;
        return vec3<f32>(value, g * mu - shrink * moments.x, 0.5 * (g - inverse));
    }
    if kind == REG_MV_ALL {
        let q = p.p1 + 0.5 * p.p2 * moments.y + 0.5 * moments.z;
        let a = (p.p0 + 0.5) / q;
        return vec3<f32>((p.p0 + 0.5) * log(q) - half_log, a * p.p2 * mu, 0.5 * (a - inverse));
    }
    return vec3<f32>(-half_log, df * mu, 0.5 * (df - inverse));
}
