"""Golden numbers of SELU, of the trained scale of the inputs and of the parametric activations (MATH.md section 6) in float64
with numpy alone (pip install numpy).

Run `python factors.py OUT_DIR [SEED]`: writes factors.json, one row a case, loss = sum(y * dy). No derivative is written out:
each comes from the formula at x + i h with h = 1e-30 (complex step), which loses nothing to cancellation.

Run `python factors.py --check OUT_DIR` to compare the file with PyTorch's own functions and derivatives (pip install torch
safetensors).
"""
import json
import sys

import numpy as np



def check(path):
    import torch
    import torch.nn.functional as F
    from torch_weights import Parametric, Scale

    def T(v):
        return torch.tensor(v["data"], dtype=torch.float64).reshape(v["shape"])

    rows, worst = json.load(open(f"{path}/factors.json")), 0.0
    for row in rows:
        x, name = T(row["x"]).requires_grad_(), row.get("activation")
        n = x.shape[1]
        net = F.selu if name is None else Scale(n) if name == "scale" else Parametric(n, getattr(F, name))
        if name is not None:
            net.weight = torch.nn.Parameter(T(row["a"]))
        y = net(x)
        (y * T(row["dy"])).sum().backward()
        found = {"y": y, "dx": x.grad, **({} if name is None else {"da": net.weight.grad})}
        worst = max(worst, *(float((v - T(row[k])).abs().max()) for k, v in found.items()))
    print(f"{len(rows)} rows, largest difference {worst:.1e}")
    assert worst < 1e-12


if sys.argv[1] == "--check":
    sys.exit(check(sys.argv[2]))
OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
rng = np.random.default_rng(SEED)
# As Klambauer et al. 2017 print them in their appendix, and PyTorch has them.
SCALE, ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


def J(a):
    return {"shape": list(a.shape), "data": [float(v) for v in a.reshape(-1)]}


ACTS = {
    "relu": lambda z: np.where(z.real > 0, z, 0 * z),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "mish": lambda z: z * np.tanh(np.log(1 + np.exp(z))),
    "selu": lambda z: SCALE * np.where(z.real > 0, z, ALPHA * (np.exp(z) - 1)),
}


def layer(name, x, a):
    return a * x if name == "scale" else x + a * (ACTS[name](x) - x)


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
y = ACTS["selu"](x)
rows.append({"layer": "selu", "x": J(x), "y": J(y), "dy": J(dy), "dx": J(gradient(lambda z: (ACTS["selu"](z) * dy).sum(), x))})
for n, width in [(5, 1), (7, 3), (18, 17)]:
    for name in ["scale", *ACTS]:
        x, a = 2 * rng.normal(size=(n, width)), 1 + rng.normal(size=width)
        y = layer(name, x, a)
        dy = rng.normal(size=y.shape)
        dx = gradient(lambda t: (layer(name, t, a) * dy).sum(), x)
        da = gradient(lambda t: (layer(name, x, t) * dy).sum(), a)
        values = {"x": x, "a": a, "y": y, "dy": dy, "dx": dx, "da": da}
        rows.append({"layer": "factor", "activation": name, **{k: J(v) for k, v in values.items()}})
with open(f"{OUT}/factors.json", "w") as file:
    json.dump(rows, file)
print("factors", len(rows))
