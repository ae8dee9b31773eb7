"""Golden numbers of the Student-t likelihood (MATH.md sections 1, 2 and 7) in float64 (pip install numpy scipy).

Run `python student.py OUT_DIR [SEED]`: writes student.json. Three kinds of rows:

likelihood   -log p by scipy's t and its slopes by complex step: loss and dz as the mean over rows.
expectation  of VIFO rows: `rule` is nine times five nodes of numpy's hermegauss, `integral` scipy's adaptive quadrature of both.
             The script prints the largest differences of the two by sd of the location over the scale, and by sd of l.
predictive   log density and CDF of y = m' + sqrt(g(L)) T by integrals over m' and L, and the CRPS as an integral of the CDF.
             (The program integrates over the variance of the noise instead.)
"""
import json
import sys

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from scipy import integrate, special, stats

OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
rng = np.random.default_rng(SEED)
rows = []


def J(a):
    a = np.asarray(a, float)
    return {"shape": list(a.shape), "data": [float(v) for v in a.reshape(-1)]}


def link(name, l):
    if name == "exp":
        return np.exp(np.clip(l, -10, 10))
    return np.clip(np.logaddexp(0, l), 1e-3, 1e3)


def loss(name, nu, m, l, y):
    """-log t, also of complex m and l away from the clamps."""
    g = np.exp(l) if name == "exp" else np.log(1 + np.exp(l))
    constant = special.gammaln(nu / 2) - special.gammaln((nu + 1) / 2) + 0.5 * np.log(np.pi * nu)
    return 0.5 * (nu + 1) * np.log(1 + (y - m) ** 2 / (nu * g)) + 0.5 * np.log(g) + constant


def slopes(name, nu, m, l, y):
    return loss(name, nu, m + 1e-30j, l, y).imag / 1e-30, loss(name, nu, m, l + 1e-30j, y).imag / 1e-30


# ---- likelihood ----
for nu in (2.5, 4.0, 30.0):
    for name in ("exp", "softplus"):
        z, y = rng.normal(size=(7, 2)) * [1.0, 1.5], rng.normal(size=7)
        # A residual of a hundred scales, and one of none.
        y[0], y[1] = z[0, 0] + 100, z[1, 0]
        value = -stats.t.logpdf(y, nu, z[:, 0], np.sqrt(link(name, z[:, 1])))
        assert np.allclose(value, loss(name, nu, z[:, 0], z[:, 1], y), rtol=1e-12)
        dz = np.stack(slopes(name, nu, z[:, 0], z[:, 1], y), 1) / len(y)
        rows.append({"kind": "likelihood", "nu": nu, "link": name, "z": J(z), "y": J(y), "loss": float(value.mean()), "dz": J(dz)})


# ---- expectation ----
def five(name, nu, mu, sd, y, a, b):
    """-log t at the nodes a and b, and its slopes in mu_m, mu_l, sd_m, sd_l."""
    m, l = mu[0] + sd[0] * a, mu[1] + sd[1] * b
    dm, dl = slopes(name, nu, m, l, y)
    return np.array([loss(name, nu, m, l, y), dm, dl, dm * a, dl * b])


def rule(*row):
    (a, wa), (b, wb) = hermegauss(9), hermegauss(5)
    w = np.outer(wa / wa.sum(), wb / wb.sum())
    return (five(*row, a[:, None], b[None, :]) * w).sum((1, 2))


def integral(name, nu, mu, sd, y):
    def over_l(a):
        f = lambda b: five(name, nu, mu, sd, y, a, b) * np.exp(-b * b / 2)
        return integrate.quad_vec(f, -8.5, 8.5, epsabs=1e-11, epsrel=1e-11)[0]

    f = lambda a: over_l(a) * np.exp(-a * a / 2)
    at = (y - mu[0]) / sd[0]
    points = [at] if abs(at) < 8 else None
    return integrate.quad_vec(f, -8.5, 8.5, epsabs=1e-9, epsrel=1e-9, points=points)[0] / (2 * np.pi)


n = 6
for nu in (2.5, 4.0, 30.0):
    for name in ("exp", "softplus"):
        # Locations as uncertain as training leaves them: up to 0.4 of a scale, l up to 0.4.
        mu, y = rng.normal(size=(n, 2)) * [1.0, 0.5], rng.normal(size=n) * 1.5
        scale = np.sqrt(link(name, mu[:, 1]))
        sd = np.stack([scale * rng.uniform(0.05, 0.4, n), rng.uniform(0.05, 0.4, n)], 1)
        by_rule = np.array([rule(name, nu, mu[i], sd[i], y[i]) for i in range(n)])
        by_integral = np.array([integral(name, nu, mu[i], sd[i], y[i]) for i in range(n)])
        print(f"expectation, nu {nu}, {name}: rule off by {np.abs(by_rule - by_integral).max(0)}")
        rows.append({"kind": "expectation", "nu": nu, "link": name, "mu": J(mu), "rho": J(np.log(np.expm1(sd))), "y": J(y),
                     "rule": J(by_rule), "integral": J(by_integral)})


def errors_of_the_rule():
    """Against a rule of 1,801 times 181 equal steps, whose own error is exp(-2 pi^2 / step^2) and exp(-2 pi sqrt(nu g) / (sd step))."""
    def even(step):
        t = np.arange(-9, 9 + step / 2, step)
        w = np.exp(-t * t / 2)
        return t[:, None] if step < 0.05 else t[None, :], w / w.sum()

    (a, wa), (b, wb) = even(0.01), even(0.1)
    for sd_l in (0.1, 0.3, 0.6, 1.0):
        line = []
        for sd_m in (0.05, 0.1, 0.3, 0.6, 1.0, 2.0):
            worst = 0
            for nu in (2.5, 4, 10, 30):
                for y in (0, 0.5, 1, 2, 4, 10, 30):
                    row = ("exp", nu, (0.0, 0.0), (sd_m, sd_l), float(y))
                    worst = max(worst, np.abs(np.einsum("i,j,kij->k", wa, wb, five(*row, a, b)) - rule(*row))[0])
            line.append(f"{sd_m}: {worst:.0e}")
        print(f"sd of l {sd_l}; sd of the location in scales, error of the expectation in nats: " + ", ".join(line))


# ---- predictive ----
X, W = leggauss(20)


def panels(edges):
    edges = np.asarray(edges)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * X).ravel(), (half[:, None] * W).ravel()


def of_l(name, l, sd, nu):
    """Nodes of g(L) and log weights, those at the bounds of g alone."""
    low, high = (-10.0, 10.0) if name == "exp" else (np.log(np.expm1(1e-3)), 1e3)
    if sd == 0:
        return link(name, np.array([l])), np.zeros(1)
    start, end = max(low, l - 9 * sd - sd * sd), min(high, l + 9 * sd + (nu / 2 + 1) * sd * sd)
    x, w = panels(np.linspace(start, end, 10))
    logs = np.log(w) + stats.norm.logpdf(x, l, sd)
    x = np.concatenate([[low], x, [high]])
    return link(name, x), np.concatenate([[stats.norm.logcdf((low - l) / sd)], logs, [stats.norm.logcdf((l - high) / sd)]])


def of_m(v, d, scale):
    """Nodes of m' - m and log weights: panels that halve towards both centres, 0 and d, down to a tenth of the least scale."""
    if v == 0:
        return np.zeros(1), np.zeros(1)
    root = np.sqrt(v)
    least = 0.1 * min(scale, root)
    away = least * 2.2 ** np.arange(0, 1 + np.log(60 * root / least + 1) / np.log(2.2))
    edges = np.unique(np.concatenate([c + s * np.concatenate([[0], away]) for c in (0, d) for s in (-1, 1)]))
    edges = edges[np.abs(edges) <= 38 * root]
    x, w = panels(edges)
    return x, np.log(w) + stats.norm.logpdf(x, 0, root)


def log_density(name, nu, v, l, sd, d):
    g, wl = of_l(name, l, sd, nu)
    m, wm = of_m(v, d, np.sqrt(g[wl > wl.max() - 60].min()))
    root = np.sqrt(g)[:, None]
    constant = stats.t.logpdf(0, nu)
    log_t = constant - 0.5 * (nu + 1) * np.log1p(((d - m[None, :]) / root) ** 2 / nu)
    return special.logsumexp(wl[:, None] + wm[None, :] + log_t - np.log(root))


def cdf(name, nu, v, l, sd, d):
    """P(Y <= m - d), d >= 0."""
    g, wl = of_l(name, l, sd, nu)
    m, wm = of_m(v, -d, np.sqrt(g[wl > wl.max() - 60].min()))
    weights = np.exp(wl[:, None] + wm[None, :])
    return float((weights * special.stdtr(nu, (-d - m[None, :]) / np.sqrt(g)[:, None])).sum())


def crps(name, nu, v, l, sd, d):
    """At m - d: the integral of F^2 below and of (1 - F)^2 above, F by symmetry; the tails in log x."""
    below = lambda x: cdf(name, nu, v, l, sd, x) ** 2 if x > 0 else (1 - cdf(name, nu, v, l, sd, -x)) ** 2
    quad = lambda f, a, b: integrate.quad(f, a, b, epsabs=1e-7, epsrel=1e-6, limit=200)[0]
    # Below m - d, and above it by the mirror image.
    unit = np.sqrt(v + np.exp(l)) * 3
    tail = lambda start: quad(lambda u: below(start + unit * np.expm1(u)) * unit * np.exp(u), 0, 12)
    return tail(d) + tail(-d)


grid = []
for nu in (2.5, 4.0, 12.0, 30.0):
    for v, l, sd, name in [(0.0, 0.3, 0.0, "exp"), (1e-6, -3.0, 0.1, "exp"), (0.05, -3.0, 0.35, "exp"), (0.7, 0.2, 0.35, "exp"),
                           (2.0, -4.0, 1.0, "exp"), (0.3, 1.0, 2.0, "exp"), (0.2, -9.0, 0.8, "exp"), (0.1, 0.5, 0.4, "softplus"),
                           (0.5, -5.5, 1.0, "softplus"), (0.0, -1.0, 0.6, "softplus")]:
        unit = np.sqrt(v + np.exp(l + sd * sd / 2))
        d = unit * np.array([0.0, 0.7, 2.0, 10.0, 60.0])
        logs = [log_density(name, nu, v, l, sd, x) for x in d]
        tails = [cdf(name, nu, v, l, sd, x) for x in d]
        row = {"kind": "predictive", "nu": nu, "link": name, "v": v, "l": l, "sd": sd, "d": J(d), "log_density": J(logs), "cdf": J(tails)}
        if nu in (2.5, 4.0) and sd in (0.0, 0.35):
            row["crps"] = J([crps(name, nu, v, l, sd, x) for x in d[:3]])
        rows.append(row)

# The sums over panels against scipy's adaptive quadrature of both.
for nu, v, l, sd, d in [(2.5, 0.3, -1.0, 0.5, 0.4), (4.0, 0.05, -3.0, 0.35, 2.0), (30.0, 1.0, 0.0, 0.3, 4.0)]:
    def over_m(L):
        f = lambda m: stats.norm.pdf(m, 0, np.sqrt(v)) * stats.t.pdf(d - m, nu, scale=np.exp(L / 2))
        return integrate.quad(f, -9 * np.sqrt(v), 9 * np.sqrt(v), points=[min(d, 8.9 * np.sqrt(v))], epsrel=1e-10, limit=200)[0]

    value = integrate.quad(lambda L: over_m(L) * stats.norm.pdf(L, l, sd), l - 8 * sd, l + 8 * sd, epsrel=1e-8, limit=200)[0]
    assert abs(np.log(value) - log_density("exp", nu, v, l, sd, d)) < 1e-8, (np.log(value), log_density("exp", nu, v, l, sd, d))

with open(f"{OUT}/student.json", "w") as file:
    json.dump(rows, file)
print("student", len(rows))
errors_of_the_rule()
