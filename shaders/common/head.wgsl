// The heads' formulas: likelihoods, and a row of VIFO's head. Builds on math, rng, step and regularizer; twin: src/ops/head.rs.
// Where a row's numbers stand is the family's business, which has these functions: `head_output` and `head_moment` read by a place,
// `head_gradient` and `set_head_gradient` read and write the gradient of an output.

const LIKELIHOOD_SOFTMAX: u32 = 0u;
const LIKELIHOOD_STUDENT: u32 = 2u;
const NOISE_EXP: u32 = 0u;
const NOISE_SOFTPLUS: u32 = 1u;
const EXPONENT_MAX: f32 = 30.0;

// g and dg/dl of the noise link, clamped; the slope is 0 on the clamp.
fn noise_variance(link: u32, l: f32) -> vec2<f32> {
    if link == NOISE_SOFTPLUS {
        let g = softplus(l);
        if g < 1e-3 {
            return vec2<f32>(1e-3, 0.0);
        }
        if g > 1e3 {
            return vec2<f32>(1e3, 0.0);
        }
        return vec2<f32>(g, sigmoid(l));
    }
    let c = at_most(at_least(l, -10.0), 10.0);
    let g = exp(c);
    return vec2<f32>(g, select(0.0, g, c == l));
}

// -log N(y | m, g(l)), its slopes in m and l.
fn gaussian_loss(link: u32, m: f32, l: f32, y: f32) -> vec3<f32> {
    let g = noise_variance(link, l);
    var log_g = at_most(at_least(l, -10.0), 10.0);
    if link != NOISE_EXP {
        log_g = log(g.x);
    }
    let e = y - m;
    let q = e * e / g.x;
    return vec3<f32>(0.5 * (q + log_g) + HALF_LOG_TAU, -e / g.x, 0.5 * (1.0 - q) / g.x * g.y);
}

// -log of Student's t at y, its slopes in the location m and in l.
fn student_loss(link: u32, nu: f32, constant: f32, m: f32, l: f32, y: f32) -> vec3<f32> {
    let g = noise_variance(link, l);
    var log_g = at_most(at_least(l, -10.0), 10.0);
    if link != NOISE_EXP {
        log_g = log(g.x);
    }
    let e = y - m;
    let far = 1.0 + e * e / (nu * g.x);
    // A residual counts as in a Gaussian of this weight.
    let weight = (nu + 1.0) / (nu * g.x * far);
    let value = 0.5 * ((nu + 1.0) * log(far) + log_g) + constant;
    return vec3<f32>(value, -weight * e, 0.5 * (1.0 - weight * e * e) / g.x * g.y);
}

// What a row of VIFO's head goes by.
struct VifoRow {
    k: u32,
    likelihood: u32,
    noise_link: u32,
    sigma_link: u32,
    regularizer: u32,
    exact: u32,
    nu: f32,
    constant: f32,
    n_samples: u32,
    prior: Prior,
}

// The Philox block last drawn: neighbouring elements share one.
struct Normals {
    draw: Draw,
    block: u32,
    values: vec4<f32>,
}

fn take_normal(normals: ptr<function, Normals>, element: u32) -> f32 {
    let block = element / 4u;
    if block != (*normals).block {
        (*normals).block = block;
        (*normals).values = draw_normals((*normals).draw, block);
    }
    return (*normals).values[element % 4u];
}

// Terms of a row of which the outputs stand at `at`, their gradient times `weight`. `first` = number of its first normal in `draw`,
// `eta` = weight of its regularizer, `moments` = place of its columns' means.
fn vifo_row(p: VifoRow, at: u32, is_data: bool, y: f32, weight: f32, eta: f32, draw: Draw, first: u32, moments: u32) -> vec3<f32> {
    var term = vec3<f32>();
    if is_data {
        if p.exact == 1u && p.likelihood == LIKELIHOOD_STUDENT {
            term.x = student_expectation(p, at, y, weight);
        } else if p.exact == 1u {
            term.x = exact_expectation(p, at, y, weight);
        } else if p.likelihood == LIKELIHOOD_SOFTMAX {
            term.x = sampled_softmax(p, at, u32(y), weight, draw, first);
        } else {
            term.x = sampled_regression(p, at, y, weight, draw, first);
        }
    }
    let reg = add_regularizer(p, at, moments, weight * eta);
    term.y = select(0.0, reg, is_data);
    term.z = select(reg, 0.0, is_data);
    return term;
}

// The closed form for the exp link. Above EXPONENT_MAX it goes on along the tangent: finite, with the right pull.
fn exact_expectation(p: VifoRow, at: u32, y: f32, scale: f32) -> f32 {
    let link = p.sigma_link;
    let mu = vec2<f32>(head_output(at), head_output(at + 1u));
    let sd = vec2<f32>(sigma(link, head_output(at + 2u)).x, sigma(link, head_output(at + 3u)).x);
    let e = y - mu.x;
    let q = e * e + sd.x * sd.x;
    let x = 0.5 * sd.y * sd.y - mu.y;
    let slope = exp(at_most(x, EXPONENT_MAX));
    let value = select(slope, slope * (1.0 + x - EXPONENT_MAX), x > EXPONENT_MAX);
    set_head_gradient(at, -scale * e * value);
    set_head_gradient(at + 1u, scale * 0.5 * (1.0 - q * slope));
    set_head_gradient(at + 2u, scale * sd.x * value);
    set_head_gradient(at + 3u, scale * 0.5 * q * slope * sd.y);
    return 0.5 * (q * value + mu.y) + HALF_LOG_TAU;
}

// Nine nodes in the location and five in l, halves of a symmetric rule: (node, weight) of a standard normal.
fn student_expectation(p: VifoRow, at: u32, y: f32, scale: f32) -> f32 {
    var nine = array<vec2<f32>, 5>(
        vec2<f32>(0.0, 4.063492063492064e-1),
        vec2<f32>(1.023255663789133, 2.440975028949394e-1),
        vec2<f32>(2.07684797867783, 4.991640676521787e-2),
        vec2<f32>(3.20542900285647, 2.789141321231769e-3),
        vec2<f32>(4.512745863399783, 2.234584400774658e-5),
    );
    var five = array<vec2<f32>, 3>(
        vec2<f32>(0.0, 0.5333333333333333),
        vec2<f32>(1.355626179974266, 0.22207592200561263),
        vec2<f32>(2.8569700138728056, 0.01125741132772069),
    );
    let mu = vec2<f32>(head_output(at), head_output(at + 1u));
    let sd = vec2<f32>(sigma(p.sigma_link, head_output(at + 2u)).x, sigma(p.sigma_link, head_output(at + 3u)).x);
    var loss = 0.0;
    var dmu = vec2<f32>();
    var dsigma = vec2<f32>();
    // Node 4 is the middle one of nine, node 2 that of five.
    for (var i = 0u; i < 9u; i++) {
        let a = nine[select(i - 4u, 4u - i, i < 4u)] * vec2<f32>(select(1.0, -1.0, i < 4u), 1.0);
        for (var j = 0u; j < 5u; j++) {
            let b = five[select(j - 2u, 2u - j, j < 2u)] * vec2<f32>(select(1.0, -1.0, j < 2u), 1.0);
            let e = vec2<f32>(a.x, b.x);
            let weight = a.y * b.y;
            let z = mu + sd * e;
            let v = student_loss(p.noise_link, p.nu, p.constant, z.x, z.y, y);
            loss += weight * v.x;
            dmu += scale * weight * v.yz;
            dsigma += scale * weight * v.yz * e;
        }
    }
    set_head_gradient(at, dmu.x);
    set_head_gradient(at + 1u, dmu.y);
    set_head_gradient(at + 2u, dsigma.x);
    set_head_gradient(at + 3u, dsigma.y);
    return loss;
}

fn sampled_regression(p: VifoRow, at: u32, y: f32, scale: f32, draw: Draw, first: u32) -> f32 {
    let n = p.n_samples;
    let share = scale / f32(n);
    let mu = vec2<f32>(head_output(at), head_output(at + 1u));
    let sd = vec2<f32>(sigma(p.sigma_link, head_output(at + 2u)).x, sigma(p.sigma_link, head_output(at + 3u)).x);
    var normals = Normals(draw, 0xffffffffu, vec4<f32>());
    var loss = 0.0;
    var dmu = vec2<f32>();
    var dsigma = vec2<f32>();
    for (var m = 0u; m < n; m++) {
        let e0 = take_normal(&normals, first + 2u * m);
        let e = vec2<f32>(e0, take_normal(&normals, first + 2u * m + 1u));
        let z = mu + sd * e;
        var v = vec3<f32>();
        if p.likelihood == LIKELIHOOD_STUDENT {
            v = student_loss(p.noise_link, p.nu, p.constant, z.x, z.y, y);
        } else {
            v = gaussian_loss(p.noise_link, z.x, z.y, y);
        }
        loss += v.x;
        dmu += share * v.yz;
        dsigma += share * v.yz * e;
    }
    set_head_gradient(at, dmu.x);
    set_head_gradient(at + 1u, dmu.y);
    set_head_gradient(at + 2u, dsigma.x);
    set_head_gradient(at + 3u, dsigma.y);
    return loss / f32(n);
}

// Twice over each sample: once for its log-sum-exp, kept with a running maximum, once for the gradient. The normals are
// drawn again, because K is not known here and a thread has no memory of that size.
fn sampled_softmax(p: VifoRow, at: u32, label: u32, scale: f32, draw: Draw, first: u32) -> f32 {
    let n = p.n_samples;
    let share = scale / f32(n);
    var normals = Normals(draw, 0xffffffffu, vec4<f32>());
    var loss = 0.0;
    for (var m = 0u; m < n; m++) {
        let element = first + m * p.k;
        var top = 0.0;
        var sum = 0.0;
        var chosen = 0.0;
        for (var c = 0u; c < p.k; c++) {
            let sd = sigma(p.sigma_link, head_output(at + p.k + c)).x;
            let z = head_output(at + c) + sd * take_normal(&normals, element + c);
            if c == 0u || z > top {
                sum = sum * exp(select(top - z, 0.0, c == 0u)) + 1.0;
                top = z;
            } else {
                sum += exp(z - top);
            }
            chosen = select(chosen, z, c == label);
        }
        loss += log(sum) + top - chosen;
        for (var c = 0u; c < p.k; c++) {
            let sd = sigma(p.sigma_link, head_output(at + p.k + c)).x;
            let e = take_normal(&normals, element + c);
            let z = head_output(at + c) + sd * e;
            let d = share * (exp(z - top) / sum - select(0.0, 1.0, c == label));
            set_head_gradient(at + c, head_gradient(at + c) + d);
            set_head_gradient(at + p.k + c, head_gradient(at + p.k + c) + d * e);
        }
    }
    return loss / f32(n);
}

// Adds scale * dReg, carries dsigma on to rho, and returns Reg of the row.
fn add_regularizer(p: VifoRow, at: u32, moments: u32, scale: f32) -> f32 {
    let kind = p.regularizer;
    let prior = p.prior;
    var value = f32(p.k) * prior.constant;
    var df = 0.0;
    if kind == REG_EB || kind == REG_EB_ALL {
        var s = 0.0;
        for (var c = 0u; c < p.k; c++) {
            if kind == REG_EB {
                let mu = head_output(at + c);
                let sd = sigma(p.sigma_link, head_output(at + p.k + c)).x;
                s += mu * mu + sd * sd;
            } else {
                s += head_moment(moments + p.k + c) + head_moment(moments + 2u * p.k + c);
            }
        }
        let energy = eb_energy(prior, f32(p.k), s);
        value += 0.5 * energy.x;
        df = energy.y;
    }
    for (var c = 0u; c < p.k; c++) {
        let sd = sigma(p.sigma_link, head_output(at + p.k + c));
        var term = vec3<f32>();
        if kind != REG_NONE {
            var column = vec3<f32>();
            if kind >= REG_MEAN_ALL {
                column = vec3<f32>(head_moment(moments + c), head_moment(moments + p.k + c), head_moment(moments + 2u * p.k + c));
            }
            term = reg_term(kind, prior, head_output(at + c), sd.x * sd.x, column, df);
        }
        value += term.x;
        set_head_gradient(at + c, head_gradient(at + c) + scale * term.y);
        set_head_gradient(at + p.k + c, (head_gradient(at + p.k + c) + scale * term.z * 2.0 * sd.x) * sd.y);
    }
    return select(value, 0.0, kind == REG_NONE);
}
