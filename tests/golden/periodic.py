"""Golden numbers of Mish and of the periodic embedding (MATH.md section 6) in float64 with numpy alone (pip install numpy).

Run `python periodic.py OUT_DIR [SEED]`: writes periodic.json, one row a case, loss = sum(y * dy). No derivative is written out:
each comes from the formula at x + i h with h = 1e-30 (complex step), which loses nothing to cancellation.
"""
import json
import sys

import numpy as np

OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
rng = np.random.default_rng(SEED)


def J(a):
    return {"shape": list(a.shape), "data": [float(v) for v in a.reshape(-1)]}


def mish(z):
    return z * np.tanh(np.log(1 + np.exp(z)))


def periodic(x, f, p, w, c):
    """x [n, d], f and p [d, 16], w [d, 3, 16], c [d, 3]; (three numbers of each column, x)."""
    u = np.cos(2 * np.pi * x[:, :, None] * f + p)
    v = np.einsum("ndh,doh->ndo", u, w) + c
    return np.concatenate([v.reshape(len(x), -1), x], 1)


def gradient(of, at):
    """d of / d at, element by element."""
    g = np.zeros(at.shape)
    for i in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[i] += 1e-30j
        g[i] = of(moved).imag / 1e-30
    return g


rows = []
x = rng.normal(size=(4, 9)) * 3
dy = rng.normal(size=x.shape)
rows.append({"layer": "mish", "x": J(x), "y": J(mish(x)), "dy": J(dy), "dx": J(gradient(lambda z: (mish(z) * dy).sum(), x))})
for n, d, width in [(1, 1, 0.1), (7, 3, 0.1), (20, 2, 1.0)]:
    x, f = rng.normal(size=(n, d)), rng.normal(size=(d, 16)) * width
    p = rng.uniform(-np.pi, np.pi, (d, 16))
    w, c = rng.uniform(-0.25, 0.25, (d, 3, 16)), rng.uniform(-0.25, 0.25, (d, 3))
    y = periodic(x, f, p, w, c)
    dy = rng.normal(size=y.shape)
    values = {"frequency": f, "phase": p, "weight": w, "bias": c}
    row = {"layer": "periodic", "x": J(x), **{k: J(v) for k, v in values.items()}, "y": J(y), "dy": J(dy)}
    for name in values:
        row["d" + name] = J(gradient(lambda t: (periodic(x, *{**values, name: t}.values()) * dy).sum(), values[name]))
    rows.append(row)
with open(f"{OUT}/periodic.json", "w") as file:
    json.dump(rows, file)
print("periodic", len(rows))
