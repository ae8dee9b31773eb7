"""The peers again, each tuned for as many seconds as vifo's fit of the same set took.

    python tuned.py --sets uci/yacht,uci/energy --uci FOLDER --splits 3,4,5 --seconds yacht=10,energy=10 --out tuned.jsonl

A method's first candidate is its default, the others are drawn at random from the space below. Each is fitted on four fifths
of the training rows and judged on the last fifth: by NLL, by CRPS where a method has no density, by RMSE where it predicts a
mean alone. A candidate is begun while seconds of processor time are left. The best is fitted again on all training rows. One
thread each; `seconds` counts the search too, `tried` the candidates.
"""
import argparse
import time

import numpy as np

import peers
import scores
import sets


def log(low, high):
    return lambda r: float(np.exp(r.uniform(np.log(low), np.log(high))))


def whole(of):
    return lambda r: int(round(of(r)))


def flat(low, high):
    return lambda r: float(r.uniform(low, high))


def one(*of):
    return lambda r: of[r.integers(len(of))]


# Each method: its space, and what fits one candidate: (settings, inputs, y, train, test) to scores.

TREES = dict(depth=whole(flat(3, 10)), learning_rate=log(0.01, 0.3), l2_leaf_reg=log(0.5, 30), random_strength=log(0.1, 10),
             iterations=one(1000, 2000))


def boosted(settings, loss, i, y, train, test, seed):
    from catboost import CatBoostRegressor
    fit, stop = peers.held_out(train, seed)
    c = CatBoostRegressor(loss_function=loss, random_seed=seed, verbose=0, thread_count=1, allow_writing_files=False,
                          cat_features=i.texts, **settings)
    # The default of CatBoost alone takes all its trees and all rows.
    if not settings and loss == "RMSE":
        return c.fit(i.cat.iloc[train], y[train]).predict(i.cat.iloc[test])
    c.fit(i.cat.iloc[fit], y[fit], eval_set=(i.cat.iloc[stop], y[stop]), use_best_model=True, early_stopping_rounds=100)
    return c.predict(i.cat.iloc[test])


def cb(settings, i, y, train, test):
    return dict(rmse=scores.rmse(y[test], boosted(settings, "RMSE", i, y, train, test, 0)))


def cb_unc_ens(settings, i, y, train, test, of=5):
    p = np.array([boosted(settings, "RMSEWithUncertainty", i, y, train, test, seed) for seed in range(of)])
    return scores.mixture(y[test], p[:, :, 0], np.sqrt(p[:, :, 1]))


def lgb_q(settings, i, y, train, test):
    return peers.lgb_q(i, y, train, test, **settings)


def rf(settings, i, y, train, test):
    """Between the trees' means and within their leaves: the law of total variance."""
    from sklearn.ensemble import RandomForestRegressor
    f = RandomForestRegressor(random_state=0, n_jobs=1, **settings).fit(i.full[train], y[train])
    p = np.array([e.predict(i.full[test]) for e in f.estimators_])
    within = np.mean([e.tree_.impurity[e.apply(i.full[test].astype(np.float32))] for e in f.estimators_], axis=0)
    return scores.mixture(y[test], p.mean(0), np.sqrt(p.var(0) + within + 1e-6 * y[train].var()))


def ngb(settings, i, y, train, test):
    from ngboost import NGBRegressor
    from sklearn.tree import DecisionTreeRegressor
    settings = dict(settings)
    base = {}
    if "max_depth" in settings:
        base = dict(Base=DecisionTreeRegressor(criterion="friedman_mse", max_depth=settings.pop("max_depth")))
    d = NGBRegressor(verbose=False, random_state=0, **base, **settings).fit(i.full[train], y[train]).pred_dist(i.full[test])
    return scores.mixture(y[test], d.params["loc"], d.params["scale"])


def mlp(settings, i, y, train, test):
    """The sd of the residuals on a tenth of the rows, held out for it and to stop early."""
    from sklearn.neural_network import MLPRegressor
    if not settings:
        return peers.mlp(i, y, train, test)
    fit, rest = peers.held_out(train, 0)
    x, m, s = peers.scaled(i.full, fit), y[fit].mean(), y[fit].std()
    model = MLPRegressor(random_state=0, early_stopping=True, **settings).fit(x[fit], (y[fit] - m) / s)
    sd = np.sqrt(np.mean((y[rest] - model.predict(x[rest]) * s - m) ** 2))
    return scores.mixture(y[test], model.predict(x[test]) * s + m, np.full(len(test), sd))


METHODS = dict(
    cb=(TREES, cb, "rmse"),
    cb_unc_ens=(TREES, cb_unc_ens, "nll"),
    lgb_q=(dict(num_leaves=whole(log(4, 128)), learning_rate=log(0.01, 0.3), min_child_samples=whole(log(3, 100)),
                n_estimators=whole(log(30, 600)), subsample=flat(0.5, 1), subsample_freq=one(1), colsample_bytree=flat(0.4, 1)),
           lgb_q, "crps"),
    rf=(dict(min_samples_leaf=whole(log(1, 20)), max_features=flat(0.3, 1), n_estimators=one(100, 300)), rf, "nll"),
    ngb=(dict(n_estimators=whole(log(100, 1500)), learning_rate=log(0.005, 0.1), minibatch_frac=flat(0.5, 1),
              max_depth=one(2, 3, 4, 5, 6)), ngb, "nll"),
    mlp=(dict(hidden_layer_sizes=one((64,), (256,), (64, 64), (128, 128), (256, 256)), alpha=log(1e-5, 1),
              learning_rate_init=log(3e-4, 1e-2), batch_size=one(32, 64, 128, 256), max_iter=one(500)), mlp, "nll"),
)


def search(space, fit, by, i, y, train, seconds):
    """(the best settings, how many were tried)."""
    order = np.random.default_rng(1).permutation(train)
    cut = len(train) // 5
    judge, rest = order[:cut], order[cut:]
    draw, start, best, tried = np.random.default_rng(2), time.process_time(), (np.inf, {}), 0
    while tried == 0 or time.process_time() - start < seconds:
        settings = {} if tried == 0 else {name: of(draw) for name, of in space.items()}
        # One of the five is enough to judge an ensemble's settings.
        known = dict(of=1) if fit is cb_unc_ens else {}
        try:
            score = fit(settings, i, y, rest, judge, **known)[by]
        except Exception:
            score = np.inf
        if score < best[0]:
            best = (score, settings)
        tried += 1
    return best[1], tried


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--sets", required=True, help="names with commas; regressions")
    a.add_argument("--splits", default="3")
    a.add_argument("--methods", default=",".join(METHODS))
    a.add_argument("--seconds", required=True, help="NAME=SECONDS with commas, without uci/: vifo's seconds on one thread")
    a.add_argument("--uci", help="folder of the UCI sets")
    a.add_argument("--out", default=str(scores.RESULTS / "tuned.jsonl"))
    a = a.parse_args()
    budget = {name: float(s) for name, s in (part.split("=") for part in a.seconds.split(","))}
    out = scores.Lines(a.out)
    for split in map(int, a.splits.split(",")):
        for name in a.sets.split(","):
            t, target, task, dates, train, test = sets.load(name, split, a.uci)
            y, inputs = t[target].to_numpy(float), peers.Inputs(t, target, dates, train)
            for method in a.methods.split(","):
                space, fit, by = METHODS[method]
                key = f"{method}_tuned"
                if (name, split, key) in out.had or peers.refused(method, task, len(t), 0):
                    continue
                package = peers.PACKAGE.get(method.split("_")[0], "scikit-learn")
                start = time.process_time()
                best, tried = search(space, fit, by, inputs, y, train, budget[name.removeprefix("uci/")])
                out.add(set=name, split=split, method=key, task=task, rows=len(t), **fit(best, inputs, y, train, test),
                        seconds=round(time.process_time() - start, 2), tried=tried, settings=best,
                        versions=scores.versions(package))


if __name__ == "__main__":
    main()
