"""Golden numbers of the embedding of levels (MATH.md section 6) in float64 with PyTorch's nn.Embedding (pip install torch).

Run `python embed.py OUT_DIR [SEED]`: writes embed.json, one row a case, loss = sum(y * dy); the gradients are autograd's.
"""
import json
import sys

import torch
from torch import nn

OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
torch.manual_seed(SEED)
torch.set_default_dtype(torch.float64)


def J(a):
    return {"shape": list(a.shape), "data": [float(v) for v in a.reshape(-1)]}


class Levels(nn.ModuleList):
    """(input, levels, numbers) of each column; the rows of their tables, then the other inputs. A level of none is zeros."""
    def __init__(self, columns):
        super().__init__(nn.Embedding(levels, width) for _, levels, width in columns)
        self.columns = list(columns)

    def forward(self, x):
        parts = []
        for (at, levels, _), table in zip(self.columns, self):
            number = x[:, at].floor()
            known = (number >= 0) & (number < levels)
            parts.append(table(number.where(known, 0 * number).long()) * known[:, None])
        taken = {at for at, _, _ in self.columns}
        return torch.cat(parts + [x[:, [i for i in range(x.shape[1]) if i not in taken]]], 1)


rows = []
for n, n_in, columns in [(1, 1, [(0, 2, 3)]), (9, 4, [(1, 5, 2), (2, 3, 4)]), (40, 3, [(0, 100, 16), (2, 7, 5)])]:
    x = torch.randn(n, n_in)
    for at, levels, _ in columns:
        # Some beyond the table.
        x[:, at] = torch.randint(0, levels + 1, (n,)).double()
    x.requires_grad_()
    net = Levels(columns)
    y = net(x)
    dy = torch.randn(y.shape)
    (y * dy).sum().backward()
    row = {"x": J(x), "columns": J(torch.tensor(columns)), "y": J(y), "dy": J(dy)}
    row["weight"] = J(torch.cat([t.weight.reshape(-1) for t in net]))
    row["dweight"] = J(torch.cat([t.weight.grad.reshape(-1) for t in net]))
    dx = x.grad.clone() if x.grad is not None else torch.zeros(x.shape)
    row["dx"] = J(dx)
    rows.append(row)
with open(f"{OUT}/embed.json", "w") as file:
    json.dump(rows, file)
print("embed", len(rows))
