// needs: index, math, gamma, step
// The Dirichlet head, one thread a row. Twin: src/ops/dirichlet.rs.

struct DirichletHead {
    replicas: u32,
    rows: u32,
    k: u32,
    share: u32,
}
@group(0) @binding(0) var<uniform> dirichlet_params: DirichletHead;
@group(0) @binding(1) var<storage, read> dirichlet_z: array<f32>;
@group(0) @binding(2) var<storage, read> dirichlet_labels: array<f32>;
@group(0) @binding(3) var<storage, read_write> dirichlet_terms: array<f32>;
@group(0) @binding(4) var<storage, read_write> dirichlet_dz: array<f32>;
@group(0) @binding(5) var<storage, read> dirichlet_args: StepArgs;

@compute @workgroup_size(64)
fn dirichlet_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = dirichlet_params;
    let n_valid = dirichlet_args.n_valid;
    let eta = dirichlet_args.eta;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let r = i / p.rows;
    let b = i % p.rows;
    let z = i * p.k;
    var nll = 0.0;
    var kl = 0.0;
    if b < n_valid {
        // Compared with, never an address: a label is data.
        let label = u32(dirichlet_labels[r / p.share * p.rows + b]);
        let weight = 1.0 / f32(n_valid);
        // S - K, the part of the concentrations' sum that the outputs make.
        var excess = 0.0;
        for (var c = 0u; c < p.k; c++) {
            excess += at_least(dirichlet_z[z + c], 0.0);
        }
        let s = excess + f32(p.k);
        let psi = digamma(s);
        let slope = trigamma(s);
        nll = psi - digamma(1.0);
        kl = ln_gamma(s) - ln_gamma(f32(p.k));
        for (var c = 0u; c < p.k; c++) {
            let v = dirichlet_z[z + c];
            // Where the concentration is 1 the divergence has no part and the relu no slope.
            if v > 0.0 {
                let conc = v + 1.0;
                let psi_c = digamma(conc);
                let slope_c = trigamma(conc);
                kl += v * (psi_c - psi) - ln_gamma(conc);
                var d = slope + eta * (v * slope_c - excess * slope);
                if c == label {
                    nll = psi - psi_c;
                    d -= slope_c;
                }
                dirichlet_dz[z + c] = weight * d;
            } else {
                // NaN is neither above nor below; it must stay visible.
                dirichlet_dz[z + c] = select(v, 0.0, v <= 0.0);
            }
        }
    } else {
        for (var c = 0u; c < p.k; c++) {
            dirichlet_dz[z + c] = 0.0;
        }
    }
    dirichlet_terms[i * 3u] = nll;
    dirichlet_terms[i * 3u + 1u] = kl;
    dirichlet_terms[i * 3u + 2u] = 0.0;
}
