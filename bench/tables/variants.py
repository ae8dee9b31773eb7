"""Compares named sets of flags (`ours.py --name`) with one of them, on the sets and splits that both have.

    python variants.py --to default
    python variants.py --to mp_l3e01 --only mp_l3e01m16,m_l3e01

Regression: in how many the NLL is lower, its mean difference (each clipped to half a nat, so that one set does not decide) and its
median, geometric means of the ratios of RMSE, CRPS and width of the 90 % intervals, their mean coverage, and how far from
0.9 it is on the average set. Classes: the same of the NLL, mean difference of accuracy, mean calibration error.
"""
import argparse
import collections
import json

import numpy as np

import scores


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--file", default=str(scores.RESULTS / "ours.jsonl"))
    a.add_argument("--to", default="default")
    a.add_argument("--only", help="names, with commas between them")
    a = a.parse_args()
    rows, tasks = collections.defaultdict(dict), {}
    for line in open(a.file):
        d = json.loads(line)
        if "error" not in d:
            rows[d["method"].removeprefix("vifo:")][d["set"], d["split"]] = d
            tasks[d["set"]] = d["task"]
    first = rows[a.to]
    for task in ("regression", "classification"):
        print(f"{task}, against {a.to}")
        for name, own in rows.items():
            keys = [k for k in own if k in first and tasks[k[0]] == task]
            if not keys or a.only and name not in a.only.split(","):
                continue

            def ratio(metric):
                return np.exp(np.mean([np.log(own[k][metric] / first[k][metric]) for k in keys]))

            nll = np.array([own[k]["nll"] - first[k]["nll"] for k in keys])
            text = (f"{name:14} n {len(keys):3} nll lower in {np.sum(nll < 0):3} mean {np.clip(nll, -.5, .5).mean():+.4f} "
                    f"median {np.median(nll):+.4f}")
            if task == "regression":
                coverage = np.array([own[k]["cov90"] for k in keys])
                text += (f" rmse x {ratio('rmse'):.4f} crps x {ratio('crps'):.4f} width x {ratio('w90'):.3f} "
                         f"coverage {coverage.mean():.3f} off by {np.abs(coverage - .9).mean():.4f}")
            else:
                accuracy = np.mean([own[k]["accuracy"] - first[k]["accuracy"] for k in keys])
                text += f" accuracy {accuracy:+.4f} ece {np.mean([own[k]['ece'] for k in keys]):.4f}"
            print(text)


if __name__ == "__main__":
    main()
