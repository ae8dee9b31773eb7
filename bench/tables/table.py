"""Tables of what peers.py and ours.py have measured: Markdown, losses first.

    python table.py                         vifo's default and its peers by their defaults
    python table.py --task classification > ../../docs/table_classes.md
    python table.py --methods cb,rf,gp,vifo:default,vifo:own
"""
import argparse
import collections
import json

import numpy as np

import scores

LOWER = {"regression": ["nll", "crps", "rmse"], "classification": ["nll", "ece"]}
SHOWN = {"regression": ["rmse", "nll", "crps", "cov90", "w90", "seconds"],
         "classification": ["accuracy", "nll", "ece", "seconds"]}


def read(task):
    """metric -> set -> method -> mean over the splits."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for name in ("peers.jsonl", "ours.jsonl"):
        path = scores.RESULTS / name
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            if row["task"] == task and "error" not in row:
                for metric in SHOWN[task]:
                    if row.get(metric) is not None:
                        found[metric][row["set"]][row["method"]].append(row[metric])
    return found


# vifo's default on regressions and on classes, by its name in results/ours.jsonl.
DEFAULT = {"regression": "vifo:D", "classification": "vifo:S"}


def markdown(head, rows):
    head, *rows = [["vifo" if cell in DEFAULT.values() else cell for cell in row] for row in [head, *rows]]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--task", default="regression", choices=LOWER)
    a.add_argument("--methods", help="with commas between them [default: vifo's default and all peers]")
    a.add_argument("--against", default="cb", help="the method whose RMSE ours is divided by")
    a = a.parse_args()
    found = read(a.task)
    known = sorted({m for s in found["nll"].values() for m in s if not m.startswith("vifo:")})
    methods = a.methods.split(",") if a.methods else [DEFAULT[a.task], *known]
    ours = [m for m in methods if m.startswith("vifo:")]
    sets = sorted(s for s, by in found["nll"].items() if all(m in by for m in ours))
    value = lambda metric, s, m: np.mean(found[metric][s][m]) if m in found[metric][s] else np.nan
    for m in ours:
        lost = []
        for metric in LOWER[a.task]:
            for s in sets:
                best, peer = min(((value(metric, s, p), p) for p in methods if not p.startswith("vifo:")
                                  and not np.isnan(value(metric, s, p))), default=(np.nan, ""))
                if value(metric, s, m) > best:
                    lost.append([s, metric, f"{value(metric, s, m):.4g}", f"{best:.4g}", peer])
        print(f"# {a.task.capitalize()}: {m.replace(DEFAULT[a.task], 'vifo')} beside other tools by their defaults, development sets\n")
        print("Split 0 of each set, one thread; made by `python bench/tables/table.py" + f" --task {a.task}`.")
        print("Names of the tools: bench/tables/README.md.\n")
        print(f"Where it is behind the best peer, of {len(sets)} sets:\n")
        markdown(["set", "metric", m, "best peer", "which"], lost)
    summary = []
    for m in methods:
        row = [m]
        ahead = [value("nll", s, ours[0]) <= value("nll", s, m) for s in sets if m in found["nll"][s]] if ours else []
        row.append("" if m in ours else f"{sum(ahead)} of {len(ahead)}")
        for metric in LOWER[a.task]:
            have = [s for s in sets if m in found[metric][s]]
            best = sum(value(metric, s, m) <= np.nanmin([value(metric, s, p) for p in methods]) for s in have)
            row.append(f"{best} of {len(have)}")
        if a.task == "regression":
            both = [s for s in sets if m in found["rmse"][s] and a.against in found["rmse"][s]]
            ratio = [value("rmse", s, m) / value("rmse", s, a.against) for s in both]
            row.append(f"{np.exp(np.mean(np.log(ratio))):.3f}" if both else "")
            cover = [value("cov90", s, m) for s in sets if m in found["cov90"][s]]
            row.append(f"{min(cover):.2f} to {max(cover):.2f}" if cover else "")
        nll = [value("nll", s, m) for s in sets if m in found["nll"][s]]
        row.append(f"{np.mean(nll):.3f}" if len(nll) == len(sets) else "")
        row.append(f"{np.median([value('seconds', s, m) for s in sets if m in found['seconds'][s]] or [np.nan]):.1f}")
        summary.append(row)
    best_of = [f"best {metric}" for metric in LOWER[a.task]]
    extra = [f"rmse by {a.against}'s", "coverage of 90 %"] if a.task == "regression" else []
    markdown(["method", "nll at most its", *best_of, *extra, "mean nll", "median s"], summary)
    for metric in SHOWN[a.task]:
        print(f"## {metric}\n")
        cell = lambda v: "" if np.isnan(v) else f"{v:.4g}"
        markdown(["set", *methods], [[s, *(cell(value(metric, s, m)) for m in methods)] for s in sets])


if __name__ == "__main__":
    main()
