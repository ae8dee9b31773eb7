"""Golden numbers of data.scaling = "robust" (MATH.md section 6), with numpy alone (pip install numpy): the formulas of RealMLP
(Holzmueller et al. 2024), and the median where a cell is missing.

Run `python scaling.py OUT_DIR [SEED]`: writes scaling.json, one row a column: training cells and new ones (null where missing),
median, width, and the inputs that the new ones become.

Run `python scaling.py --check OUT_DIR` to compare the file with scikit-learn's RobustScaler (pip install scikit-learn), which
knows no clip: it is compared where the quartiles differ, with the clip taken back.
"""
import json
import sys

import numpy as np


def check(path):
    from sklearn.preprocessing import RobustScaler

    worst, n = 0.0, 0
    for row in json.load(open(f"{path}/scaling.json")):
        train, new = (np.array([np.nan if v is None else v for v in row[k]])[:, None] for k in ("train", "new"))
        scaler = RobustScaler().fit(train)
        if np.nanquantile(train, 0.25) == np.nanquantile(train, 0.75):
            continue
        z, found = scaler.transform(new)[:, 0], np.array(row["inputs"])
        near = np.abs(z) < 50
        worst, n = max(worst, np.abs(found / np.sqrt(1 - (found / 3) ** 2) - z)[near].max()), n + near.sum()
    print(f"{n} numbers, largest difference {worst:.1e}")
    assert worst < 1e-9


if sys.argv[1] == "--check":
    sys.exit(check(sys.argv[2]))
OUT, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
rng = np.random.default_rng(SEED)
N = 62


def column(name, train):
    known = train[~np.isnan(train)]
    median = np.median(known)
    width = np.quantile(known, 0.75) - np.quantile(known, 0.25)
    if width == 0:
        width = 0.5 * (known.max() - known.min())
    scale, shift = known.std(), known.mean()
    new = np.concatenate([known[:5], [known.min(), known.max(), median], shift + scale * np.array([-300.0, -2.2, 1.7, 4e4])])
    if np.isnan(train).any():
        new = np.append(new, np.nan)
    z = (np.where(np.isnan(new), median, new) - median) / width
    cells = {k: [None if np.isnan(v) else float(v) for v in a] for k, a in (("train", train), ("new", new))}
    return {"name": name, **cells, "median": float(median), "width": float(width), "inputs": list(z / np.sqrt(1 + (z / 3) ** 2))}


normal = rng.normal(size=N)
outliers = np.where(np.arange(N) % 20 == 7, 1e6, 10 + 3 * normal)
gaps = np.where(np.arange(N) % 6 == 2, np.nan, np.exp(2 * rng.normal(size=N)))
# Three quarters are 0: the quartiles are equal.
zeros = np.where(np.arange(N) % 5 == 3, rng.uniform(1, 9, size=N), 0.0)
shifted = 1e9 + 1e-3 * normal
columns = {"normal": normal, "outliers": outliers, "gaps": gaps, "zeros": zeros, "shifted": shifted}
with open(f"{OUT}/scaling.json", "w") as file:
    json.dump([column(name, values) for name, values in columns.items()], file)
print("scaling", len(columns))
