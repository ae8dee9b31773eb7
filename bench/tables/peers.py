"""What else a practitioner would pick, by its defaults, on the development sets and on the UCI sets.

    python peers.py --sets all --splits 0,1,2 --max-rows 5000
    python peers.py --sets uci/yacht,uci/energy --uci FOLDER --splits 3,4 --methods cb,cb_unc_es,lgb

One line a (set, split, method) in results/peers.jsonl; what is there is not run again. One thread each; `seconds` are of
processor time, which other work on the machine leaves as they are.
"""
import argparse
import os
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
warnings.filterwarnings("ignore")
import numpy as np
import pandas as pd

import scores
import sets

LEVELS = 20
TAUS = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95]


class Inputs:
    """The inputs in three forms, all learnt from the training rows alone.

    cat:   a table with texts as texts (for CatBoost), its text columns in `texts`
    holes: a matrix with texts one-hot (20 frequent levels, the others together) and NaN where a cell is missing
    full:  the same with the median there, and a column that tells
    """

    def __init__(self, t, target, dates, train):
        x = t.drop(columns=target).copy()
        for c in dates:
            d = pd.to_datetime(x.pop(c), utc=True)
            x[c + " years"] = d.dt.year + (d.dt.dayofyear - 1 + d.dt.hour / 24) / 365.25
            for part in ("month", "dayofyear", "dayofweek", "hour"):
                v = getattr(d.dt, part)
                if v.nunique() > 1:
                    x[f"{c} {part}"] = v
        self.texts = [c for c in x if x[c].dtype == bool or not pd.api.types.is_numeric_dtype(x[c])]
        numbers = [c for c in x if c not in self.texts]
        self.cat = x.astype({c: float for c in numbers})
        self.cat[self.texts] = x[self.texts].astype(object).where(x[self.texts].notna(), "missing").astype(str)
        hot = []
        for c in self.texts:
            v = self.cat[c]
            for level in v[train].value_counts().index[:LEVELS]:
                hot.append((v == level).to_numpy(float))
            if v[train].nunique() > LEVELS:
                hot.append((~v.isin(v[train].value_counts().index[:LEVELS])).to_numpy(float))
        n = self.cat[numbers].to_numpy(float)
        gone = np.isnan(n)
        told = gone[:, gone[train].any(0)].astype(float)
        hot = np.array(hot).T if hot else np.zeros((len(t), 0))
        self.holes = np.hstack([n, hot])
        self.full = np.hstack([np.where(gone, np.nanmedian(n[train], 0), n), told, hot])


def scaled(x, train):
    mean, sd = x[train].mean(0), x[train].std(0)
    return (x - mean) / np.where(sd > 0, sd, 1)


# Regression: each takes (inputs, y, train, test) and yields (method, scores).

def catboost(i, y, train, test, loss="RMSE", seed=0, stop=None):
    from catboost import CatBoostRegressor
    c = CatBoostRegressor(loss_function=loss, random_seed=seed, verbose=0, thread_count=1, allow_writing_files=False,
                          cat_features=i.texts)
    if stop is None:
        return c.fit(i.cat.iloc[train], y[train]).predict(i.cat.iloc[test])
    c.fit(i.cat.iloc[train], y[train], eval_set=(i.cat.iloc[stop], y[stop]), use_best_model=True)
    return c.predict(i.cat.iloc[test])


def held_out(train, seed):
    """A tenth of the training rows decides the number of trees."""
    order = np.random.default_rng(seed).permutation(train)
    cut = max(len(train) // 10, 1)
    return order[cut:], order[:cut]


def cb(i, y, train, test):
    return dict(rmse=scores.rmse(y[test], catboost(i, y, train, test)))


def cb_es(i, y, train, test):
    fit, stop = held_out(train, 0)
    return dict(rmse=scores.rmse(y[test], catboost(i, y, fit, test, stop=stop)))


def cb_unc(i, y, train, test):
    p = catboost(i, y, train, test, "RMSEWithUncertainty")
    return scores.mixture(y[test], p[:, 0], np.sqrt(p[:, 1]))


def cb_unc_es(i, y, train, test, seeds=(0,)):
    p = []
    for seed in seeds:
        fit, stop = held_out(train, seed)
        p.append(catboost(i, y, fit, test, "RMSEWithUncertainty", seed, stop))
    p = np.array(p)
    return scores.mixture(y[test], p[:, :, 0], np.sqrt(p[:, :, 1]))


def cb_unc_ens(i, y, train, test):
    return cb_unc_es(i, y, train, test, range(5))


def lgb(i, y, train, test):
    from lightgbm import LGBMRegressor
    c = LGBMRegressor(n_jobs=1, verbose=-1, random_state=0).fit(i.holes[train], y[train])
    return dict(rmse=scores.rmse(y[test], c.predict(i.holes[test])))


def lgb_q(i, y, train, test, **settings):
    from lightgbm import LGBMRegressor
    q = np.array([LGBMRegressor(objective="quantile", alpha=a, n_jobs=1, verbose=-1, random_state=0, **settings)
                  .fit(i.holes[train], y[train]).predict(i.holes[test]) for a in TAUS])
    q = np.sort(q, axis=0)  # crossing quantiles put in order
    # CRPS as twice the integral of the pinball loss over the level: each level stands for its cell of [0, 1].
    edges = np.concatenate([[0], (np.array(TAUS[1:]) + TAUS[:-1]) / 2, [1]])
    e = y[test] - q
    pinball = np.maximum(np.array(TAUS)[:, None] * e, (np.array(TAUS)[:, None] - 1) * e).mean(1)
    inside = (y[test] >= q[0]) & (y[test] <= q[-1])
    return dict(rmse=scores.rmse(y[test], q[TAUS.index(0.5)]), crps=float(2 * np.diff(edges) @ pinball),
                cov90=float(inside.mean()), w90=float(np.mean(q[-1] - q[0])))


def ngb(i, y, train, test):
    from ngboost import NGBRegressor
    d = NGBRegressor(verbose=False, random_state=0).fit(i.full[train], y[train]).pred_dist(i.full[test])
    return scores.mixture(y[test], d.params["loc"], d.params["scale"])


def gp(i, y, train, test):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    x, m, s = scaled(i.full, train), y[train].mean(), y[train].std()
    at = np.random.default_rng(0).permutation(train)[:1500]
    # One length a column up to 15 columns, else one for all: the fit takes minutes otherwise.
    lengths = np.ones(x.shape[1] if x.shape[1] <= 15 else 1)
    kernel = ConstantKernel(1.0) * RBF(lengths, (1e-2, 1e3)) + WhiteKernel(0.1, (1e-8, 1e1))
    g = GaussianProcessRegressor(kernel, random_state=0).fit(x[at], (y[at] - m) / s)
    mean, sd = g.predict(x[test], return_std=True)
    return scores.mixture(y[test], mean * s + m, sd * s)


def rf(i, y, train, test):
    """The variance between trees as the predictive variance: unpruned trees vary as the rows do."""
    from sklearn.ensemble import RandomForestRegressor
    f = RandomForestRegressor(random_state=0, n_jobs=1).fit(i.full[train], y[train])
    p = np.array([e.predict(i.full[test]) for e in f.estimators_])
    return scores.mixture(y[test], p.mean(0), np.sqrt(p.var(0) + 1e-6 * y[train].var()))


def with_residual_sd(model, i, y, train, test):
    x, m, s = scaled(i.full, train), y[train].mean(), y[train].std()
    model.fit(x[train], (y[train] - m) / s)
    mean = model.predict(x[test]) * s + m
    sd = np.sqrt(np.mean((y[train] - model.predict(x[train]) * s - m) ** 2))
    return scores.mixture(y[test], mean, np.full(len(test), sd))


def mlp(i, y, train, test):
    from sklearn.neural_network import MLPRegressor
    return with_residual_sd(MLPRegressor(random_state=0), i, y, train, test)


def linear(i, y, train, test):
    from sklearn.linear_model import RidgeCV
    return with_residual_sd(RidgeCV(np.logspace(-3, 3, 13)), i, y, train, test)


# Classes: each takes the same, y as class numbers.

def cb_class(i, y, train, test, stop=None):
    from catboost import CatBoostClassifier
    c = CatBoostClassifier(loss_function="MultiClass" if y.max() > 1 else "Logloss", random_seed=0, verbose=0,
                           thread_count=1, allow_writing_files=False, cat_features=i.texts)
    if stop is None:
        c.fit(i.cat.iloc[train], y[train])
    else:
        c.fit(i.cat.iloc[train], y[train], eval_set=(i.cat.iloc[stop], y[stop]), use_best_model=True)
    return spread(c.predict_proba(i.cat.iloc[test]), c.classes_, y, test)


def cb_es_class(i, y, train, test):
    fit, stop = held_out(train, 0)
    return cb_class(i, y, fit, test, stop)


def spread(p, seen, y, test):
    """Probabilities of the classes seen in training, set among all."""
    full = np.zeros((len(p), y.max() + 1))
    full[:, np.asarray(seen, int).ravel()] = p
    return scores.classes(y[test], full)


def sklearn_class(model, x, y, train, test):
    model.fit(x[train], y[train])
    return spread(model.predict_proba(x[test]), model.classes_, y, test)


def lgb_class(i, y, train, test):
    from lightgbm import LGBMClassifier
    return sklearn_class(LGBMClassifier(n_jobs=1, verbose=-1, random_state=0), i.holes, y, train, test)


def rf_class(i, y, train, test):
    from sklearn.ensemble import RandomForestClassifier
    return sklearn_class(RandomForestClassifier(random_state=0, n_jobs=1), i.full, y, train, test)


def mlp_class(i, y, train, test):
    from sklearn.neural_network import MLPClassifier
    return sklearn_class(MLPClassifier(random_state=0), scaled(i.full, train), y, train, test)


def linear_class(i, y, train, test):
    from sklearn.linear_model import LogisticRegression
    return sklearn_class(LogisticRegression(max_iter=1000), scaled(i.full, train), y, train, test)


def gp_class(i, y, train, test):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    kernel = ConstantKernel(1.0) * RBF(np.sqrt(i.full.shape[1]))
    return sklearn_class(GaussianProcessClassifier(kernel, random_state=0), scaled(i.full, train), y, train, test)


def ngb_class(i, y, train, test):
    from ngboost import NGBClassifier
    from ngboost.distns import k_categorical
    c = NGBClassifier(Dist=k_categorical(int(y.max()) + 1), verbose=False, random_state=0).fit(i.full[train], y[train])
    return scores.classes(y[test], c.predict_proba(i.full[test]))


REGRESSION = dict(cb=cb, cb_es=cb_es, cb_unc=cb_unc, cb_unc_es=cb_unc_es, cb_unc_ens=cb_unc_ens, lgb=lgb, lgb_q=lgb_q,
                  linear=linear, mlp=mlp, rf=rf, ngb=ngb, gp=gp)
CLASSES = dict(cb=cb_class, cb_es=cb_es_class, lgb=lgb_class, linear=linear_class, mlp=mlp_class, rf=rf_class,
               ngb=ngb_class, gp=gp_class)
PACKAGE = {"cb": "catboost", "lgb": "lightgbm", "ngb": "ngboost"}


def refused(method, task, rows, kinds):
    if method == "gp":
        return rows > (1875 if task == "regression" else 700)
    return method == "ngb" and (rows > 12000 or task == "classification" and kinds > 4)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--sets", default="all", help="names with commas, or all the development sets")
    a.add_argument("--splits", default="0,1,2")
    a.add_argument("--methods", default="all")
    a.add_argument("--min-rows", type=int, default=0)
    a.add_argument("--max-rows", type=int, default=10**9)
    a.add_argument("--uci", help="folder of the UCI sets")
    a.add_argument("--part", default="0/1", help="K/N: every N-th (set, split) from K, to run N processes side by side")
    a.add_argument("--out", default=str(scores.RESULTS / "peers.jsonl"))
    a = a.parse_args()
    k, n = map(int, a.part.split("/"))
    names = [s[0] for s in sets.SETS] if a.sets == "all" else a.sets.split(",")
    jobs = [(name, int(split)) for split in a.splits.split(",") for name in names]
    out = scores.Lines(a.out)
    for name, split in jobs[k::n]:
        t, target, task, dates, train, test = sets.load(name, split, a.uci)
        if not a.min_rows < len(t) <= a.max_rows:
            continue
        y = t[target].to_numpy(float) if task == "regression" else pd.factorize(t[target].astype(str), sort=True)[0]
        inputs = Inputs(t, target, dates, train)
        known = REGRESSION if task == "regression" else CLASSES
        for method in known if a.methods == "all" else a.methods.split(","):
            if method not in known or (name, split, method) in out.had or refused(method, task, len(t), y.max() + 1):
                continue
            made = {"scikit-learn"} if method in ("linear", "mlp", "rf", "gp") else {PACKAGE[method.split("_")[0]]}
            start = time.process_time()
            try:
                row = known[method](inputs, y, train, test)
            except Exception as e:
                row = dict(error=f"{type(e).__name__}: {str(e)[:200]}")
            out.add(set=name, split=split, method=method, task=task, rows=len(t), seconds=round(time.process_time() - start, 2),
                    versions=scores.versions(*made), **row)


if __name__ == "__main__":
    main()
