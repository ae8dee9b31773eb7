"""Golden numbers of AdamW, of learning rates per parameter, of the NTK parametrisation and of averaged weights, in float64 with
PyTorch (pip install torch).

Run `python optimizers.py OUT_DIR [SEED]`: writes optimizers.json. Each row goes down 1/2 w'Aw + sum(w), whose gradient is A w + 1,
for as many steps as it lists; every weight with a learning rate of its own is a parameter group of its own.
"""
import json
import sys

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(SEED)
N, STEPS = 6, 12


def problem():
    a = rng.normal(size=(N, N))
    return torch.tensor(rng.normal(size=N)), torch.tensor(a @ a.T / N + 0.1 * np.eye(N))


def descend(make, rates, w0, a, see=lambda w: None):
    """Weights after each step; `rates` multiply the learning rate that `make` is given."""
    ws = [w.clone().reshape(1).requires_grad_(True) for w in w0]
    opt = make([{"params": [w], "factor": r} for w, r in zip(ws, rates)])
    base = [g["lr"] for g in opt.param_groups]
    out = []
    for t in range(STEPS):
        # The learning rate moves with the step, as under a schedule.
        for g, lr in zip(opt.param_groups, base):
            g["lr"] = lr * g["factor"] * lr_share(t)
        opt.zero_grad()
        w = torch.cat(ws)
        (0.5 * w @ a @ w + w.sum()).backward()
        opt.step()
        now = torch.cat(ws).detach().clone()
        see(now)
        out.append(now.tolist())
    return out


def lr_share(t):
    return 1 - t / (2 * STEPS)


rows, ones, own = [], [1.0] * N, [1.0, 0.1, 0.25, 2.0, 0.0, 0.5]
cases = [
    ("adamw", ones, 0.5, 0.999, lambda p: torch.optim.AdamW(p, lr=0.03, weight_decay=0.5)),
    ("adamw", own, 0.5, 0.95, lambda p: torch.optim.AdamW(p, lr=0.03, weight_decay=0.5, betas=(0.9, 0.95))),
    ("adam", own, 0.2, 0.95, lambda p: torch.optim.Adam(p, lr=0.03, weight_decay=0.2, betas=(0.9, 0.95))),
    ("sgd", own, 0.2, 0.0, lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.2, momentum=0.9)),
]
for kind, rates, decay, beta2, make in cases:
    w0, a = problem()
    after = descend(make, rates, w0, a)
    lr = 0.05 if kind == "sgd" else 0.03
    rows.append({"kind": kind, "rates": rates, "lr": lr, "lr_shares": [lr_share(t) for t in range(STEPS)], "weight_decay": decay,
                 "beta2": beta2, "w0": w0.tolist(), "A": a.reshape(-1).tolist(), "after_each_step": after})

# ---- the NTK parametrisation: weights v that enter the loss as v / sqrt(n), under Adam with eps / sqrt(n) ----
fan_in = [1, 4, 9, 16, 100, 256]
w0, a = problem()
root = torch.tensor(fan_in).sqrt()
vs = [(w * r).reshape(1).requires_grad_(True) for w, r in zip(w0, root)]
opt = torch.optim.Adam([{"params": [v], "eps": 1e-8 / float(r)} for v, r in zip(vs, root)], lr=0.2)
after = []
for t in range(STEPS):
    opt.zero_grad()
    w = torch.cat(vs) / root
    (0.5 * w @ a @ w + w.sum()).backward()
    opt.step()
    after.append((torch.cat(vs) / root).tolist())
rows.append({"kind": "ntk", "fan_in": fan_in, "lr": 0.2, "lr_shares": [1.0] * STEPS, "w0": w0.tolist(), "A": a.reshape(-1).tolist(),
             "after_each_step": after})

# ---- averages of weights: PyTorch's AveragedModel, whose first average is the first weights ----
for decay in (0.3, 0.9, 0.999):
    walk = torch.tensor(np.cumsum(rng.normal(size=(40, N)), 0))
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(N))])
    warm = lambda mean, w, t: mean + (1 - min(decay, (1 + float(t)) / (10 + float(t)))) * (w - mean)
    average = AveragedModel(model, avg_fn=warm)
    means = []
    for w in walk:
        with torch.no_grad():
            model[0].copy_(w)
        average.update_parameters(model)
        means.append(average.module[0].detach().tolist())
    rows.append({"kind": "average", "decay": decay, "weights": walk.tolist(), "means": means})
with open(f"{OUT}/optimizers.json", "w") as file:
    json.dump(rows, file)
print("optimizers", len(rows))
