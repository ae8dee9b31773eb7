"""Scores of predictions, and the JSON-lines file they go to."""
import json
import os
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

RESULTS = Path(__file__).resolve().parent / "results"
LEAST = 1e-6  # a class's least probability in the NLL: trees say 0, which would cost infinitely much


def _a(mu, var):
    """E|N(mu, var)|."""
    sd = np.sqrt(var)
    return 2 * sd * norm.pdf(mu / sd) + mu * (2 * norm.cdf(mu / sd) - 1)


def mixture(y, mu, sd):
    """Scores of an even mixture of Gaussians; mu and sd are (members, rows). All in the target's unit but nll (nats).

    CRPS: Grimit, Gneiting, Berrocal and Johnson (2006), equation 5. The 90 % interval is central.
    """
    mu, sd = np.atleast_2d(mu), np.atleast_2d(sd)
    sd = np.maximum(sd, 1e-12)
    k = len(mu)
    crps = _a(y - mu, sd**2).mean(0)
    for i in range(k):
        crps -= _a(mu[i] - mu, sd[i] ** 2 + sd**2).sum(0) / (2 * k * k)
    ends = [quantile(mu, sd, p) for p in (0.05, 0.95)]
    return dict(
        rmse=rmse(y, mu.mean(0)),
        nll=float(-np.mean(logsumexp(norm.logpdf(y, mu, sd), axis=0) - np.log(k))),
        crps=float(crps.mean()),
        cov90=float(np.mean((y >= ends[0]) & (y <= ends[1]))),
        w90=float(np.mean(ends[1] - ends[0])),
    )


def quantile(mu, sd, p):
    lo, hi = (mu - 9 * sd).min(0), (mu + 9 * sd).max(0)
    for _ in range(60):
        mid = (lo + hi) / 2
        below = norm.cdf((mid - mu) / sd).mean(0) < p
        lo, hi = np.where(below, mid, lo), np.where(below, hi, mid)
    return (lo + hi) / 2


def rmse(y, mean):
    return float(np.sqrt(np.mean((y - mean) ** 2)))


def classes(y, p):
    """y: class numbers, p: (rows, classes)."""
    p = p / p.sum(1, keepdims=True)
    hit = p.argmax(1) == y
    return dict(
        accuracy=float(hit.mean()),
        nll=float(-np.mean(np.log(np.maximum(p[np.arange(len(y)), y], LEAST)))),
        ece=ece(p.max(1), hit),
    )


def ece(confidence, hit, bins=20):
    """Equal mass, cut at round(i n / bins); rows of one confidence share their mean hit, so row order plays no part."""
    order = np.argsort(confidence, kind="stable")
    c = confidence[order]
    _, group = np.unique(c, return_inverse=True)
    h = (np.bincount(group, hit[order]) / np.bincount(group))[group]
    cuts = np.round(np.arange(bins + 1) * len(c) / bins).astype(int)
    return float(sum(abs(h[a:b].sum() - c[a:b].sum()) for a, b in zip(cuts, cuts[1:])) / len(c))


def versions(*packages):
    return {p: version(p) for p in packages}


class Lines:
    """A JSON-lines file that several processes may append to; `had` holds the keys that are there."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = [json.loads(r) for r in self.path.read_text().splitlines()] if self.path.exists() else []
        self.had = {(r["set"], r["split"], r["method"]) for r in rows}

    def add(self, **row):
        line = json.dumps({k: round(v, 7 if abs(v) > 1 else 12) if isinstance(v, float) else v for k, v in row.items()})
        at = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(at, (line + "\n").encode())
        os.close(at)
        self.had.add((row["set"], row["split"], row["method"]))
        print(line[:150], flush=True)
