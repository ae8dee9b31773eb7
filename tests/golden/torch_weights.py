"""PyTorch's weights and what they predict, for tests/numbers/torch_weights.rs (pip install torch safetensors).

Run `python torch_weights.py OUT_DIR [SEED]`. Writes torch_alexnet, torch_preresnet20 and torch_cnn (.safetensors): narrow
networks with random weights under PyTorch's names, running statistics moved by a few passes in training mode, and
beside them `__input__` (NCHW) and `__output__` (evaluation mode, computed in float64). Nothing is trained.

Run `python torch_weights.py --check OUT_DIR EXPORTED_DIR` to load files of the same names that vifo exported, strictly,
and to compare their outputs with `__output__`.
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

S = nn.SiLU


def same(c, o):
    """2 x 2 "same": one row below, one column right."""
    return nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(c, o, 2))


def alexnet(channels, widths, hidden, n_out):
    a, b, c, d, e = widths
    return nn.Sequential(
        nn.Conv2d(channels, a, 3, padding=1), S(), nn.MaxPool2d(2), nn.Conv2d(a, b, 3, padding=1), S(), nn.MaxPool2d(2),
        same(b, c), S(), same(c, d), S(), same(d, e), S(), nn.Flatten(),
        nn.Linear(64 * e, hidden), S(), nn.Linear(hidden, hidden), S(), nn.Linear(hidden, n_out))


class Periodic(nn.Module):
    """The periodic embedding of these columns (MATH.md section 6); torch's names and shapes are those of vifo's files."""
    def __init__(self, columns):
        super().__init__()
        self.columns, d = list(columns), len(columns)
        self.frequency = nn.Parameter(0.1 * torch.randn(d, 16))
        self.phase = nn.Parameter(torch.pi * (2 * torch.rand(d, 16) - 1))
        self.weight = nn.Parameter((2 * torch.rand(d, 3, 16) - 1) / 4)
        self.bias = nn.Parameter((2 * torch.rand(d, 3) - 1) / 4)

    def forward(self, x):
        u = torch.cos(2 * torch.pi * x[:, self.columns, None] * self.frequency + self.phase)
        v = torch.einsum("ndh,doh->ndo", u, self.weight) + self.bias
        return torch.cat([v.flatten(1), x], 1)


class Scale(nn.Module):
    """A factor for each of n inputs."""
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return self.weight * x


class Parametric(nn.Module):
    """A factor for each of n units, which says how far the activation `act` acts."""
    def __init__(self, n, act):
        super().__init__()
        self.act, self.weight = act, nn.Parameter(torch.ones(n))

    def forward(self, x):
        return x + self.weight * (self.act(x) - x)


class Levels(nn.ModuleList):
    """Tables of (input, levels, numbers) of each column, their rows before the other inputs; what is no level is zeros."""
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


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.b1, self.c1 = nn.BatchNorm2d(i), nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.b2, self.c2 = nn.BatchNorm2d(o), nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.sc = nn.Conv2d(i, o, 1, stride, bias=False) if stride != 1 or i != o else None

    def forward(self, x):
        y = self.c2(F.relu(self.b2(self.c1(F.relu(self.b1(x))))))
        return y + (x if self.sc is None else self.sc(x))


class PreResNet(nn.Module):
    def __init__(self, channels, width, depth, n_out):
        super().__init__()
        self.c = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        blocks, i = [], width
        for stage in range(3):
            for k in range((depth - 2) // 6):
                o = width << stage
                blocks.append(Block(i, o, 2 if stage > 0 and k == 0 else 1))
                i = o
        self.l, self.b, self.fc = nn.Sequential(*blocks), nn.BatchNorm2d(i), nn.Linear(i, n_out)

    def forward(self, x):
        return self.fc(F.avg_pool2d(F.relu(self.b(self.l(self.c(x)))), 8).flatten(1))


def cnn(size, channels, widths, hidden, n_out):
    a, b = widths
    return nn.Sequential(
        nn.Conv2d(channels, a, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(a, b, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(b * (size // 4) ** 2, hidden), nn.ReLU(), nn.Linear(hidden, n_out))


# The sizes stand in tests/numbers/torch_weights.rs too.
NETS = {
    "torch_alexnet": (lambda: alexnet(3, (8, 16, 16, 16, 8), 32, 10), (3, 32, 32)),
    "torch_preresnet20": (lambda: PreResNet(3, 4, 20, 10), (3, 32, 32)),
    "torch_cnn": (lambda: cnn(8, 1, (8, 16), 32, 10), (1, 8, 8)),
}


def make(out, seed):
    torch.manual_seed(seed)
    for name, (build, shape) in NETS.items():
        net = build()
        with torch.no_grad():
            for m in net.modules():
                if isinstance(m, (nn.Conv2d, nn.Linear)):
                    # PyTorch's own start lets the signal fade: the outputs would be little but the last bias.
                    nn.init.kaiming_normal_(m.weight)
                if isinstance(m, nn.BatchNorm2d):
                    m.weight.uniform_(0.5, 1.5)
                    m.bias.normal_(0.0, 0.5)
            net.train()
            for _ in range(5):
                net(1.5 * torch.randn(16, *shape) + 0.5)
            state = {k: v.clone().contiguous() for k, v in net.state_dict().items()}
            # Images of different contrast and colour: after average pooling plain noise looks all the same.
            x = torch.randn(3, *shape) * torch.tensor([0.5, 1.0, 2.0])[:, None, None, None] + torch.randn(3, shape[0], 1, 1)
            y = net.double().eval()(x.double()).float()
        save_file(state | {"__input__": x, "__output__": y}, f"{out}/{name}.safetensors")
        spread = float((y - y.mean(0)).abs().max())
        print(f"{name}: {len(state)} tensors, largest output {float(y.abs().max()):.3g}, largest spread over inputs {spread:.3g}")


def check(golden, exported):
    for name, (build, _) in NETS.items():
        want = load_file(f"{golden}/{name}.safetensors")
        net = build()
        net.load_state_dict(load_file(f"{exported}/{name}.safetensors"))
        with torch.no_grad():
            y = net.double().eval()(want["__input__"].double())
        error = float((y - want["__output__"]).abs().max() / want["__output__"].abs().max())
        print(f"{name}: {error:.1e} of the largest output")
        assert error < 1e-6


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2], sys.argv[3])
    else:
        make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7)
