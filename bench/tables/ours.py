"""Runs a vifo binary on the same sets and splits, with a named set of flags.

    python ours.py --vifo ../../target/release/vifo --name default --sets all --splits 0 --max-rows 2000
    python ours.py --vifo BINARY --name h128x2 --flags "--hidden 128,128"
    python ours.py --vifo BINARY --check prestige

One line a (set, split, name) in results/ours.jsonl, with vifo's own figures of the test rows; what is there is not run
again. --check fits one set and computes its RMSE, coverage and NLL again, from the run's predictions file.
"""
import argparse
import json
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import scores
import sets

NAMES = {"rmse": "rmse", "nll": "nll", "crps": "crps", "coverage_90": "cov90", "width_90": "w90",
         "accuracy": "accuracy", "ece_equal_mass": "ece"}


def fit(vifo, name, split, flags, uci, out, threads):
    """(scores, seconds) of one fit into the folder `out`."""
    t, target, task, _, _, test = sets.load(name, split, uci)
    at = Path(uci) / sets.UCI.get(name[4:], name[4:]) if name.startswith("uci/") else sets.DATA / name
    command = [vifo, "fit", str(at / "data.csv"), "--target", target, "--task", task, "--quiet", "--baseline", "off",
               "--split-file", str(at / "test_index.txt"), "--split", str(split), "--threads", str(threads),
               "--out", str(out), *shlex.split(flags)]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.time() - start
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split())[-300:])
    results = json.loads((out / "results.json").read_text())
    if results["rows"] != len(test):
        raise RuntimeError(f"{results['rows']} test rows instead of {len(test)}")
    got = {NAMES[m["name"]]: float(m["value"]) for m in results["metrics"] if m["name"] in NAMES}
    folds = out / "out_of_fold.json"
    if folds.exists():
        got["oof_nll"] = next(float(m["value"]) for m in json.loads(folds.read_text())["metrics"] if m["name"] == "nll")
    if task == "classification" and got["nll"] is not None:
        got["nll"] = min(got["nll"], -float(np.log(scores.LEAST)))
    return got, seconds


def check(a):
    """One member that is one Gaussian (the method base), so that sd in the file says all of the prediction."""
    with tempfile.TemporaryDirectory() as folder:
        for flags in ("--method base --members 1", ""):
            out = Path(folder) / f"run{len(flags)}"
            got, _ = fit(a.vifo, a.check, 0, flags, a.uci, out, a.threads)
            t, target, task, _, _, test = sets.load(a.check, 0, a.uci)
            p = pd.read_csv(out / "predictions.csv")
            if task == "classification":
                names = sorted(t[target].astype(str).unique())
                y = p[target].astype(str).map(names.index).to_numpy()
                mine = scores.classes(y, p[[f"p_{c}" for c in names]].to_numpy(float))
            else:
                y = p[target].to_numpy(float)
                if not np.allclose(np.sort(y), np.sort(t[target].to_numpy(float)[test]), rtol=1e-5):
                    print("the file's targets are not the test rows' targets")
                mine = scores.mixture(y, p["mean"].to_numpy(float), p["sd"].to_numpy(float))
                mine["cov90"] = float(np.mean((y >= p["q5"]) & (y <= p["q95"])))
                mine["w90"] = float(np.mean(p["q95"] - p["q5"]))
            print(flags or "default")
            for k, v in mine.items():
                print(f"  {k:9} vifo {got[k]:.6g}   from predictions.csv {v:.6g}")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--vifo", required=True)
    a.add_argument("--name", default="default", help="the variant's name")
    a.add_argument("--flags", default="", help="further flags of `vifo fit`, as one text")
    a.add_argument("--sets", default="all")
    a.add_argument("--splits", default="0")
    a.add_argument("--min-rows", type=int, default=0)
    a.add_argument("--max-rows", type=int, default=10**9)
    a.add_argument("--threads", type=int, default=1)
    a.add_argument("--uci")
    a.add_argument("--check", help="set to check the figures on")
    a.add_argument("--out", default=str(scores.RESULTS / "ours.jsonl"))
    a = a.parse_args()
    if a.check:
        return check(a)
    version = subprocess.run([a.vifo, "--version"], capture_output=True, text=True).stdout.split()[-1]
    out = scores.Lines(a.out)
    method = "vifo:" + a.name
    for split in map(int, a.splits.split(",")):
        for name in [s[0] for s in sets.SETS] if a.sets == "all" else a.sets.split(","):
            t, _, task, _, _, _ = sets.load(name, split, a.uci)
            if not a.min_rows < len(t) <= a.max_rows or (name, split, method) in out.had:
                continue
            folder = Path(tempfile.mkdtemp())
            try:
                row, seconds = fit(a.vifo, name, split, a.flags, a.uci, folder / "run", a.threads)
            except (RuntimeError, OSError) as e:
                row, seconds = dict(error=str(e)), 0.0
            shutil.rmtree(folder)
            out.add(set=name, split=split, method=method, task=task, rows=len(t), seconds=round(seconds, 2),
                    versions={"vifo": version}, flags=a.flags, **row)


if __name__ == "__main__":
    main()
