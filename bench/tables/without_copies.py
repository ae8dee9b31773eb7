"""Test rows that also stand in training, taken out of the test part of a set of the standard splits.

    python without_copies.py FOLDER/wine-quality-red OUT/wine-quality-red

A third of wine-quality-red's test rows are such copies, target included: a tool that remembers rows predicts them to the last
digit. What is taken out of the test part falls to training, where it stands already.
"""
import csv
import shutil
import sys
from pathlib import Path


def main():
    source, out = map(Path, sys.argv[1:3])
    shutil.copytree(source, out)
    with open(source / "data.csv") as f:
        rows = [tuple(r) for r in csv.reader(f)][1:]
    lines = []
    for line in (source / "test_index.txt").read_text().splitlines():
        test = [int(i) for i in line.split()]
        inside = set(test)
        train = {r for i, r in enumerate(rows) if i not in inside}
        lines.append(" ".join(str(i) for i in test if rows[i] not in train))
    (out / "test_index.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
