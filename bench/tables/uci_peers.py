"""The figures of other tools on the UCI sets as the CSV that `vifo reproduce tables` reads.

    python peers.py --sets uci/yacht,uci/energy --uci FOLDER --splits 3,4 --out uci.jsonl
    python uci_peers.py uci.jsonl                     # writes assets/published/table_peers.csv
    python uci_peers.py uci.jsonl --out FILE          # another file, for `vifo reproduce tables --peers FILE`

Only regressions of the eight UCI sets are taken, and only methods that ran; the later of two lines of one split counts.
"""
import argparse
import csv
import io
import json
from pathlib import Path

import sets

OWN = Path(__file__).resolve().parents[2] / "assets" / "published" / "table_peers.csv"
NAMES = ["yacht", "energy", "concrete", "wine-quality-red", "power-plant", "kin8nm", "naval-propulsion-plant",
         "protein-tertiary-structure"]
COLUMNS = {"rmse": "rmse", "nll": "nll", "crps": "crps", "coverage_90": "cov90", "width_90": "w90", "seconds": "seconds"}


def rows(lines):
    found = {}
    for line in lines:
        r = json.loads(line)
        name = r["set"].removeprefix("uci/")
        name = sets.UCI.get(name, name)
        if not r["set"].startswith("uci/") or name not in NAMES or r["task"] != "regression" or "error" in r:
            continue
        versions = ", ".join(f"{package} {v}" for package, v in sorted(r["versions"].items()))
        cells = ["" if r.get(key) is None else repr(r[key]) for key in COLUMNS.values()]
        found[NAMES.index(name), r["split"], r["method"]] = [name, r["split"], r["method"], *cells, versions]
    return [found[key] for key in sorted(found)]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("jsonl", nargs="+", help="what peers.py has written")
    a.add_argument("--out", default=OWN, type=Path)
    a = a.parse_args()
    lines = [line for path in a.jsonl for line in Path(path).read_text().splitlines()]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["set", "split", "method", *COLUMNS, "versions"])
    out.writerows(rows(lines))
    a.out.write_text(text.getvalue())
    print(f"{a.out.name}: {len(rows(lines))} lines")


if __name__ == "__main__":
    main()
