#!/usr/bin/env python3
"""Runs exported graphs with onnxruntime and compares every column with what `vifo predict` writes.

    python tests/onnx/check.py VIFO [FOLDER]

VIFO is the program; FOLDER keeps the runs (default: a temporary one). Needs onnxruntime, onnx and numpy. For every method it
trains a few epochs on a table with numbers, missing cells, texts, yes and no, and dates; on one with two targets; on classes;
and on images. Each graph goes through onnx.checker with full type and shape inference, then through onnxruntime.

What must agree, and to what share of it:
- means to 1e-5 of the predictive sd; standard deviations to 1e-5 of themselves, or of the sd where they are parts of it;
- probabilities and entropies to 1e-5, where `predict` draws nothing for a row;
- intervals, and sets of classes, of calibrated runs;
- where it does (VIFO, VBLL and Laplace on classes): the same formula in double precision here, with the draws and the
  networks' outputs that the graph itself holds, to 1e-5; the distance from `predict` is reported.
At the end a graph with one moved weight must fail.
"""

import csv
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-5
REGRESSION = [
    "base", "swa", "swag", "dropout", "repulsive", "laplace", "vbll", "vifo-mean", "vifo-eb", "vi-mean",
]
CLASSES = REGRESSION + ["dirichlet"]


def vifo(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


# ---- tables ----

def write_tables(folder):
    """A table of every kind of column, and new rows with what training did not see."""
    random.seed(5)
    def rows(n, new):
        for i in range(n):
            a, b, price = random.gauss(0, 1), random.uniform(-3, 3), random.gauss(1.7e6, 2e3)
            town = random.choice(["Bonn", "Ulm", "Köln", "Trier"])
            size = random.choice(["1", "2", "3"])
            sold = random.choice(["yes", "no"])
            day = random.randrange(5000, 20000)
            date = str(np.datetime64("1970-01-01") + day) + f" {random.randrange(24):02}:{random.randrange(60):02}"
            y = 40 + 5 * a - 2 * b + {"Bonn": 3, "Ulm": -1, "Köln": 0, "Trier": 6}[town] + random.gauss(0, 1 + abs(b))
            z = 1e4 * b + random.gauss(0, 1e3)
            kind = "high" if y > 42 else "low" if y < 38 else "mid"
            if i % 11 == 3:
                b = None
            if i % 13 == 5:
                town = ""
            if new and i % 17 == 2:
                town = "Paris"
            if new and i % 19 == 4:
                a = None
            if new and i % 23 == 6:
                sold = "YES" if i % 2 else "maybe"
            if new and i % 29 == 8:
                date = ""
            yield dict(a=a, b=b, price=price, town=town, size=size, sold=sold, date=date, y=y, z=z, kind=kind)
    for name, n, new in [("train.csv", 240, False), ("new.csv", 120, True)]:
        with open(os.path.join(folder, name), "w", newline="") as f:
            w = csv.writer(f)
            table = list(rows(n, new))
            w.writerow(table[0].keys())
            w.writerows([["" if v is None else v for v in r.values()] for r in table])


def write_images(folder):
    """Ten classes of spots on noise: grey 12 x 12 as IDX, colour 32 x 32 as the binary files of CIFAR-10."""
    rng = np.random.default_rng(3)
    sets = {}
    for name, side, channels in [("grey", 12, 1), ("colour", 32, 3)]:
        for part, n in [("train", 200), ("new", 40)]:
            labels = np.arange(n) % 10
            pictures = rng.integers(0, 120, (n, side, side, channels), dtype=np.uint8)
            for i, c in enumerate(labels):
                y, x = divmod(int(c) * (side * side // 11), side)
                pictures[i, y : y + side // 4, x : x + side // 4] += 120
            sets[name, part] = pictures
            os.makedirs(os.path.join(folder, f"{name}-{part}"), exist_ok=True)
            at = lambda file: os.path.join(folder, f"{name}-{part}", file)
            if channels == 1:
                with open(at("train-images-idx3-ubyte"), "wb") as f:
                    f.write(struct.pack(">IIII", 0x803, n, side, side) + pictures.tobytes())
                with open(at("train-labels-idx1-ubyte"), "wb") as f:
                    f.write(struct.pack(">II", 0x801, n) + labels.astype(np.uint8).tobytes())
            else:
                planes = pictures.transpose(0, 3, 1, 2).reshape(n, -1)
                with open(at("data_batch_1.bin"), "wb") as f:
                    f.write(np.concatenate([labels[:, None].astype(np.uint8), planes], 1).tobytes())
    return sets


def read(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def feed_table(net, rows):
    kinds = {i["name"]: i["kind"] for i in json.loads(net.get_modelmeta().custom_metadata_map["vifo.inputs"])}
    feed = {}
    for i in net.get_inputs():
        cells = [r[i.name] for r in rows]
        if kinds[i.name] == "text":
            feed[i.name] = np.array(cells, dtype=object)
        elif kinds[i.name] == "date":
            days = [math.nan if c == "" else (np.datetime64(c) - np.datetime64("1970-01-01")) / np.timedelta64(1, "D") for c in cells]
            feed[i.name] = np.array(days, dtype=np.float64)
        else:
            feed[i.name] = np.array([math.nan if c == "" else float(c) for c in cells], dtype=np.float64)
    return feed


# ---- comparison ----

def session(path, more=()):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    for name in more:
        if any(name in n.output for n in model.graph.node):
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]), constants


def run(net, feed):
    return dict(zip([o.name for o in net.get_outputs()], net.run(None, feed)))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def entropy(p):
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)


def softplus(x):
    return np.logaddexp(0, x)


def by_draws(method, z, draws):
    """Probabilities, entropy, its aleatoric part and their difference, in double precision."""
    z, draws = z.astype(np.float64), draws.astype(np.float64)
    k = draws.shape[-1]
    mean, second = z[..., :k], z[..., k:2 * k]
    if method.startswith("vifo"):
        sd = np.maximum(np.exp(second) if SIGMA == "exp" else softplus(second), 1e-6)
    elif method == "vbll":
        sd = np.sqrt(second + np.exp(2 * z[..., 2 * k:]))
    else:
        sd = np.sqrt(np.maximum(second, 0))
    p = softmax(mean[:, None] + sd[:, None] * draws)
    average, aleatoric = p.mean((0, 1)), entropy(p).mean((0, 1))
    if method == "laplace":
        average = softmax(mean / np.sqrt(1 + math.pi / 8 * second)).mean(0)
        aleatoric = np.minimum(aleatoric, entropy(average))
    total = entropy(average)
    return average, total, aleatoric, np.maximum(total - aleatoric, 0)


SIGMA = "softplus"


def columns(predicted, names):
    return np.array([[math.nan if r[n] == "" else float(r[n]) for n in names] for r in predicted])


def differences(method, out, constants, predicted):
    """(largest difference by the rule above, largest distance from predict where it draws)."""
    worst, apart = 0.0, 0.0
    def see(found, want, scale):
        nonlocal worst
        assert (np.isnan(found) == np.isnan(want)).all(), "other rows are refused"
        gap = np.abs(np.asarray(found, np.float64) - want) / scale
        worst = max(worst, float(np.nanmax(np.where(np.isnan(want), 0, gap))))
    if "probabilities" not in out:
        for name in [n for n in out if n.endswith("mean")]:
            prefix = name[: -len("mean")]
            sd = columns(predicted, [prefix + "sd"])[:, 0]
            for own in [n for n in out if n.startswith(prefix) and n != "network_outputs"]:
                see(out[own], columns(predicted, [own])[:, 0], sd)
        return worst, apart
    labels = [n[2:] for n in predicted[0] if n.startswith("p_")]
    want = columns(predicted, ["p_" + l for l in labels])
    parts = ["entropy", "aleatoric_entropy", "mutual_information"]
    if "logit_draws" in constants:
        apart = max([np.nanmax(np.abs(out["probabilities"] - want))] + [np.nanmax(np.abs(out[n] - columns(predicted, [n])[:, 0])) for n in parts])
        mine = by_draws(method, out["network_outputs"], constants["logit_draws"])
        refused = np.isnan(out["entropy"])
        for name, value in zip(["probabilities"] + parts, mine):
            value[refused] = math.nan
            see(out[name], value, 1.0)
        return worst, float(apart)
    see(out["probabilities"], want, 1.0)
    for n in [n for n in out if n.startswith("set_")]:
        for r, found in zip(predicted, out[n]):
            mine = {l for l, inside in zip(labels, found) if inside}
            assert mine == set(filter(None, r[n].split("|"))), (n, r[n], mine)
    for n in parts:
        see(out[n], columns(predicted, [n])[:, 0], 1.0)
    top = np.sort(want, 1)
    for r, found, clear in zip(predicted, out["predicted"], top[:, -1] - top[:, -2] > 1e-4):
        assert r["predicted"] == found or (not clear and r["predicted"]), (r["predicted"], found)
    return worst, apart


def one(program, folder, name, method, data, extra, new, images=None, calibrate=None):
    place = os.path.join(folder, f"{name}-{method}")
    if not os.path.isdir(place):
        vifo(program, "fit", data, "--method", method, "--epochs", 6, "--members", 2, "--device", "cpu", "-q", "--out", place, *extra)
    file, table = place + ".onnx", place + ".csv"
    if calibrate:
        vifo(program, "calibrate", place, "--device", "cpu", "-q", *calibrate)
    vifo(program, "export", place, file, "--force", "-q")
    vifo(program, "predict", place, new, "--out", table, "--device", "cpu", "-q")
    net, constants = session(file, ["network_outputs"])
    predicted = read(table)
    feed = {"images": images} if images is not None else feed_table(net, read(new))
    out = run(net, feed)
    worst, apart = differences(method, out, constants, predicted)
    print(f"{name:<14}{method:<12}{worst:10.1e}{apart:12.1e}", flush=True)
    return worst, file, feed, predicted


def moved(file, feed, predicted, method):
    """A graph with one weight moved by a hundredth must not pass."""
    model = onnx.load(file)
    largest = max(model.graph.initializer, key=lambda t: len(t.raw_data))
    values = onnx.numpy_helper.to_array(largest).copy()
    values.flat[np.abs(values).argmax()] *= 1.01
    largest.CopyFrom(onnx.numpy_helper.from_array(values, largest.name))
    net = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return differences(method, run(net, feed), {}, predicted)[0]


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as own:
        folder = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else own
        os.makedirs(folder, exist_ok=True)
        write_tables(folder)
        train, new = (os.path.join(folder, n) for n in ("train.csv", "new.csv"))
        print(f"{'data':<14}{'method':<12}{'difference':>10}{'from predict':>13}")
        results = []
        small = ["--hidden", "16,16"]
        for method in REGRESSION:
            results.append(one(program, folder, "table", method, train, small + ["--target", "y", "--ignore", "kind", "--ignore", "z"], new))
            if method != "vbll":
                results.append(one(program, folder, "two-targets", method, train, small + ["--target", "y,z", "--ignore", "kind"], new))
        softplus_link = small + ["--target", "y", "--ignore", "kind", "--ignore", "z", "--set", "method.noise_link=softplus"]
        # Numbers and dates by their quartiles, and the layers that RealMLP has before and behind the linear ones.
        factors = ["--target", "y", "--ignore", "kind", "--ignore", "z", "--scaling", "robust", "--set", "net.activation=selu"]
        factors += ["--set", "net.input_scale=true", "--set", "net.parametric=true"]
        for method in ["base", "vi-mean"]:
            results.append(one(program, folder, "factors", method, train, small + factors, new))
        for method in ["base", "vifo-mean", "laplace"]:
            results.append(one(program, folder, "softplus", method, train, softplus_link, new))
        for method in ["base", "vifo-mean"]:
            extra = small + ["--target", "y,z", "--ignore", "kind", "--likelihood", "student-t"]
            results.append(one(program, folder, "student-t", method, train, extra, new))
        # Rows with a missing cell or a text that training had not are refused, and levels may look like numbers.
        for missing in ["drop", "mean"]:
            extra = small + ["--target", "y", "--ignore", "kind", "--ignore", "z", "--as", "size=text", "--missing", missing]
            results.append(one(program, folder, f"missing-{missing}", "vifo-mean", train, extra, new))
        # Texts that a table is looked up for, with a missing cell, and with a level that training had not.
        for method in ["vifo-mean", "vi-mean", "laplace"]:
            extra = ["--target", "y", "--ignore", "kind", "--ignore", "z", "--as", "size=text", "--embed-above", "2", "--set", "net.embedding=periodic"]
            results.append(one(program, folder, "levels", method, train, small + extra, new))
        for structure in ["full", "diagonal"]:
            extra = small + ["--target", "y", "--ignore", "kind", "--ignore", "z", "--set", f"laplace.structure={structure}"]
            results.append(one(program, folder, structure, "laplace", train, extra, new))
        for method in CLASSES:
            results.append(one(program, folder, "classes", method, train, small + ["--target", "kind", "--ignore", "y", "--ignore", "z"], new))
        results.append(one(program, folder, "drawn-layer", "laplace", train, small + ["--target", "kind", "--ignore", "y", "--ignore", "z", "--set", "laplace.predict=samples"], new))
        alphas = ["--alpha", "0.2", "--alpha", "0.4"]
        results.append(one(program, folder, "intervals", "swag", train, small + ["--target", "y,z", "--ignore", "kind"], new, calibrate=alphas))
        for sets in ["aps", "lac"]:
            results.append(one(program, folder, f"sets-{sets}", "swag", train, small + ["--target", "kind", "--ignore", "y", "--ignore", "z"], new, calibrate=alphas + ["--sets", sets]))
        pictures = write_images(folder)
        for name, method, extra in (
            [("grey", method, ["--set", "net.widths=[4,6]", "--hidden", "16"]) for method in CLASSES]
            + [("alexnet", method, ["--net", "alexnet", "--set", "net.widths=[4,4,6,4,4]", "--hidden", "16"]) for method in ["swag", "dropout", "vifo-mean"]]
            + [("preresnet", method, ["--net", "preresnet", "--set", "net.widths=[4]", "--set", "net.depth=8"]) for method in ["swag", "dropout", "vi-mean", "laplace"]]
        ):
            kind = "grey" if name == "grey" else "colour"
            place = lambda part: os.path.join(folder, f"{kind}-{part}", "train-images-idx3-ubyte" if kind == "grey" else "data_batch_1.bin")
            results.append(one(program, folder, name, method, place("train"), extra, place("new"), pictures[kind, "new"]))
        failed = [r[1] for r in results if not r[0] < TOLERANCE]
        worst, file, feed, predicted = results[0]
        gap = moved(file, feed, predicted, REGRESSION[0])
        print(f"one weight moved by a hundredth: {gap:.1e}")
        print(f"largest difference: {max(r[0] for r in results):.1e} of {len(results)} graphs")
        if failed or not gap > TOLERANCE:
            raise SystemExit(f"more than {TOLERANCE}: {', '.join(failed) or 'nothing, though a weight was moved'}")


if __name__ == "__main__":
    main()
