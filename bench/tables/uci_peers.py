"""The figures of other tools on the UCI sets as the CSV that `vifo reproduce tables` reads.

    python peers.py --sets uci/yacht,uci/energy --uci FOLDER --splits 3,4 --out uci.jsonl
    python uci_peers.py uci.jsonl                     # writes assets/published/table_peers.csv
    python uci_peers.py uci.jsonl --out FILE          # another file, for `vifo reproduce tables --peers FILE`
    python uci_peers.py uci.jsonl --add               # beside the lines that the file has of other splits

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


def key_of(row):
    return NAMES.index(row[0]), int(row[1]), row[2]


def rows(lines, found):
    """Those of a file, by `key_of`, and those of the lines, in order."""
    for line in lines:
        r = json.loads(line)
        name = r["set"].removeprefix("uci/")
        name = sets.UCI.get(name, name)
        if not r["set"].startswith("uci/") or name not in NAMES or r["task"] != "regression" or "error" in r:
            continue
        versions = ", ".join(f"{package} {v}" for package, v in sorted(r["versions"].items()))
        cells = ["" if r.get(key) is None else repr(r[key]) for key in COLUMNS.values()]
        row = [name, r["split"], r["method"], *cells, versions]
        found[key_of(row)] = row
    return [found[key] for key in sorted(found)]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("jsonl", nargs="+", help="what peers.py has written")
    a.add_argument("--out", default=OWN, type=Path)
    a.add_argument("--add", action="store_true", help="keep what the file has of other splits; of each set the tools that it has")
    a = a.parse_args()
    lines = [line for path in a.jsonl for line in Path(path).read_text().splitlines()]
    had = list(csv.reader(a.out.read_text().splitlines()))[1:] if a.add and a.out.exists() else []
    made = rows(lines, {key_of(row): row for row in had})
    if had:
        # A tool without the other splits would leave few that all have.
        tools = {(row[0], row[2]) for row in had}
        made = [row for row in made if (row[0], row[2]) in tools]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["set", "split", "method", *COLUMNS, "versions"])
    out.writerows(made)
    a.out.write_text(text.getvalue())
    print(f"{a.out.name}: {len(made)} lines")


if __name__ == "__main__":
    main()
