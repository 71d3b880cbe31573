# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints that were changed and sealed again: what goes on from one trains, or refuses it in
one line.

    python tests/mutants.py [COUNT [SEED]]

Every trainer leaves checkpoints of its beginning, middle and end. Numbers, shapes, types and keys
of these are changed, the checksum is made good, and a run goes on from them. Findings are crashes,
internal errors and tracebacks, refusals that do not name the checkpoint, and runs that do not heed
their time limit.
"""

import hashlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import warnings

import numpy as np

from svmcut.cli.checkpoints import Checkpoints
from svmcut.cli.start import main

CPU_SECONDS = 10
"""More than this for one mutant, whose time limit is half a second, is a finding."""

MAGIC = b"svmcut checkpoint 1\n"
RBF = ("-t", "2", "-g", "0.3")
SEQUENCE, LABELS = ("--task", "sequence"), ("--task", "multilabel")
RUNS = {
    "cutting-plane": ("--solver", "cutting-plane", "--gap", "1e-4", "--example-cost", "10"),
    "path": (
        *("--solver", "cutting-plane", "--gap", "1e-3", "--example-cost", "1,10"),
        *("--validate", "train"),
    ),
    "grid": (*RBF, "--cv", "2", "--example-cost", "1,100", "--gap", "1e-7"),
    "f1": ("-l", "f1", "--gap", "1e-3", "-c", "100"),
    "ranking": ("-l", "swapped-pairs", "--gap", "1e-3", "-c", "10"),
    "dual-cd": ("--solver", "dual-cd", "--gap", "1e-9", "--example-cost", "10"),
    "newton": ("--solver", "newton", "--gap", "1e-13", "--example-cost", "1"),
    "smo": (*RBF, "--solver", "smo", "--example-cost", "100", "--gap", "1e-7"),
    "kernel cutting-plane": (*RBF, "--solver", "cutting-plane", "--example-cost", "1"),
    "subspace": (*RBF, "--solver", "subspace", "--basis", "20", "--example-cost", "1"),
    "sampled-cuts": (
        *(*RBF, "--solver", "sampled-cuts", "--sample-size", "20", "--example-cost", "1"),
    ),
    "constant-cuts": (
        *(*RBF, "--solver", "constant-cuts", "--sample-size", "40", "--example-cost", "1"),
    ),
    "bsca": (*RBF, "--solver", "bsca", "--budget", "20", "--epochs", "3", "--example-cost", "1"),
    "bsca, adaptive": (
        *(*RBF, "--solver", "bsca", "--budget", "20", "--sampling", "adaptive"),
        *("--example-cost", "1"),
    ),
    "bsgd": (
        *(*RBF, "--solver", "bsgd", "--budget", "20", "--maintenance", "project"),
        *("--example-cost", "1"),
    ),
    "sbp": (*RBF, "--solver", "sbp", "--example-cost", "1"),
    "pegasos": (*RBF, "--solver", "pegasos", "--example-cost", "1"),
    "sdca": (*RBF, "--solver", "sdca", "--example-cost", "1"),
    "perceptron": (*RBF, "--solver", "perceptron", "--polish", "--example-cost", "1"),
    "sequences, cutting-plane": (
        *(*SEQUENCE, "--solver", "cutting-plane", "--gap", "1e-2", "--example-cost", "1"),
    ),
    "sequences, bcfw": (*SEQUENCE, "--solver", "bcfw", "--gap", "1e-3", "--example-cost", "1"),
    "sequences, ssg": (*SEQUENCE, "--solver", "ssg", "--gap", "0.2", "--example-cost", "0.1"),
    "sequences, gdmm": (*SEQUENCE, "--solver", "gdmm", "--gap", "1e-2", "--example-cost", "1"),
    "sequences, soft-bcfw": (
        *(*SEQUENCE, "--solver", "soft-bcfw", "--gap", "0.2", "--example-cost", "0.1"),
    ),
    "emissions": (
        *(*SEQUENCE, *RBF, "--solver", "cutting-plane", "--gap", "0.05", "--example-cost", "1"),
    ),
    "emissions, sampled": (
        *(*SEQUENCE, *RBF, "--solver", "sampled-cuts", "--sample-size", "10"),
        *("--example-cost", "1"),
    ),
    "label sets, gdmm": (*LABELS, "--solver", "gdmm", "--gap", "1e-2", "--example-cost", "1"),
    "label sets, soft-bcfw": (
        *(*LABELS, "--solver", "soft-bcfw", "--gap", "0.3", "--example-cost", "0.1"),
    ),
    "label sets, bcfw": (*LABELS, "--solver", "bcfw", "--gap", "1e-2", "--example-cost", "1"),
    "label sets, ssg": (*LABELS, "--solver", "ssg", "--gap", "0.2", "--example-cost", "0.1"),
    "label sets, cutting-plane": (
        *(*LABELS, "--solver", "cutting-plane", "--gap", "0.05", "--example-cost", "1"),
    ),
}
INTEGERS = (0, -1, 1, 2, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 2**80)
REALS = (0.0, -1.0, 1e-300, 1e30, 1e300, -1e300, float("nan"), float("inf"), -float("inf"))
TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|b1", "<u8", "<c16", "|O", "|V8")


def data(choose):
    """The files trained on, in the folder at hand; what is no plain example weighs something."""
    rng = np.random.default_rng(choose.randrange(2**32))
    n, d = 120, 6
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, 4)) + 0.7 * rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n) > 0, 1, -1)
    texts = [" ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) for row in X]
    labels = [",".join(map(str, np.flatnonzero(row > 0.5))) for row in scores]
    for name, lines in (
        ("train", [f"{y[i]} {texts[i]}" for i in range(n)]),
        (
            "train.rank",
            [f"{y[i]} qid:{i // 8 + 1} cost:{1 + i // 8 % 3} {texts[i]}" for i in range(n)],
        ),
        (
            "train.sequence",
            [
                f"{scores[i].argmax() + 1} qid:{i // 6 + 1} cost:{1 + i // 6 % 3} {texts[i]}"
                for i in range(n)
            ],
        ),
        ("train.multilabel", [f"{labels[i]} cost:{0.5 + i % 3} {texts[i]}" for i in range(n)]),
    ):
        with open(name, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")


def words(name, *more):
    """The command line of a run."""
    options = RUNS[name]
    task = options[1] if options[0] == "--task" else "rank" if name == "ranking" else None
    command = ["rank" if name == "ranking" else "learn", "-v", "0", "--threads", "1", *options]
    return [*command, "--checkpoint", "state", *more, f"train.{task}" if task else "train", "model"]


def checkpoints(name):
    """What the run would have left at its start, its end and at places between, as bytes."""
    found, taken, take = [], [0], Checkpoints.take

    def keep(self, snapshot):
        take(self, snapshot)
        taken[0] += 1
        if taken[0].bit_count() == 1 or taken[0] % 50 == 0:
            self._write()
            with open("state", "rb") as file:
                found.append(file.read())

    Checkpoints.take = keep
    try:
        status = main(words(name, "--time-limit", "3"))
    finally:
        Checkpoints.take = take
    assert status in (0, 3), f"{name} ends with {status}"
    assert found, name
    for path in ("state", "state.1", "model"):
        if os.path.exists(path):
            os.unlink(path)
    chosen = {0, 1, len(found) // 2, len(found) - 2, len(found) - 1}
    return [found[k] for k in sorted(chosen) if 0 <= k < len(found)]


def opened(content):
    """Head and arrays, each as dtype, shape and bytes."""
    end = content.index(b"\n", len(MAGIC))
    head, at, arrays = json.loads(content[len(MAGIC) : end]), end + 1, []
    for dtype, shape in head["arrays"]:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        arrays.append([dtype, shape, content[at : at + size]])
        at += size
    return head, arrays


def sealed(head, arrays):
    """A checkpoint with a checksum that is right."""
    head["arrays"] = [[dtype, shape] for dtype, shape, _ in arrays]
    body = MAGIC + json.dumps(head).encode() + b"\n" + b"".join(content for _, _, content in arrays)
    return body + hashlib.sha256(body).digest()


def leaves(tree, path=()):
    """Places of a tree: (the list or dict, key, names on the way)."""
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in items:
        yield tree, key, (*path, str(key))
        yield from leaves(value, (*path, str(key)))


def another_number(choose, value):
    if isinstance(value, int) and not isinstance(value, bool):
        return choose.choice((*INTEGERS, value + 1, value - 1, 2 * value, 0.5, "1", None))
    return choose.choice((*REALS, value * 1.001 if value == value else 0.0, -value, 1, "1", None))


def mutant(choose, content):
    """The checkpoint with one thing changed, and what that was."""
    head, arrays = opened(content)
    places = list(leaves(head["tree"]))
    numbers = [place for place in places if isinstance(place[0][place[1]], int | float | bool)]
    others = [place for place in places if not isinstance(place[0][place[1]], int | float | bool)]
    kind = choose.random()
    if kind < 0.3 and numbers:
        tree, key, path = choose.choice(numbers)
        was, tree[key] = tree[key], another_number(choose, tree[key])
        return sealed(head, arrays), f"{'.'.join(path)}: {was} -> {tree[key]}"
    if kind < 0.45 or not arrays:  # as in a grid that has not begun
        tree, key, path = choose.choice(others)
        if isinstance(tree, dict) and choose.random() < 0.7:
            del tree[key]
            return sealed(head, arrays), f"{'.'.join(path)}: dropped"
        tree[key] = choose.choice(
            (None, 0, "x", [], {}, {"dict": {}}, {"tuple": []}, {"array": 0}, {"array": 10**9})
        )
        return sealed(head, arrays), f"{'.'.join(path)}: replaced by {tree[key]}"
    place = choose.randrange(len(arrays))
    dtype, shape, raw = arrays[place]
    names = next(
        ".".join(path) for tree, key, path in places if key == "array" and tree[key] == place
    )
    values = np.frombuffer(raw, dtype).copy()
    if kind < 0.8 and values.size:
        at = choose.randrange(values.size)
        was = values[at].item()
        wanted = another_number(choose, was)
        while not isinstance(wanted, int | float) or (
            values.dtype.kind != "f" and not isinstance(wanted, int)
        ):
            wanted = another_number(choose, was)
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                values[at] = wanted
        else:
            bounds = np.iinfo(values.dtype) if values.dtype.kind in "iu" else None
            values[at] = min(max(wanted, bounds.min), bounds.max) if bounds else not was
        arrays[place][2] = values.tobytes()
        return sealed(head, arrays), f"{names}[{at}] of {shape}: {was} -> {values[at]}"
    if kind < 0.88 and values.size > 1:
        i, j = choose.randrange(values.size), choose.randrange(values.size)
        values[[i, j]] = values[[j, i]]
        if choose.random() < 0.5:
            values[i] = values[j]
        arrays[place][2] = values.tobytes()
        return sealed(head, arrays), f"{names}[{i}] of {shape} as [{j}]"
    change = choose.randrange(4)
    if change == 0 and values.size:
        values = values[: values.size - choose.randint(1, values.size)]
    elif change == 1:
        values = np.append(values, values[:1] if values.size else np.zeros(1, values.dtype))
    elif change == 2:
        values = values[:0]
    else:
        kept = len(raw) if choose.random() < 0.5 else 0
        arrays[place] = [
            choose.choice(TYPES),
            [kept // 8] if choose.random() < 0.8 else [-1],
            raw[:kept],
        ]
        return sealed(head, arrays), f"{names} of {shape} {dtype}: {arrays[place][:2]}"
    if len(shape) == 1 or choose.random() < 0.5:
        shape = [values.size]
    arrays[place] = [dtype, shape, values.tobytes()]
    return sealed(head, arrays), f"{names} of {arrays[place][1]}: {values.size} values"


def verdict(status, errors):
    """What is wrong with the end of a run; empty where nothing is."""
    if "internal error" in errors or "Traceback" in errors:
        return "internal error"
    lines = errors.splitlines()
    if status == 1 and (len(lines) != 1 or not lines[0].startswith("state: ")):
        return "not one line that names the checkpoint"
    return "" if status in (0, 1, 3) else f"status {status}"


def tried(name, content):
    """Exit status and messages of a run that goes on from the checkpoint, in this process."""
    with open("state", "wb") as file:
        file.write(content)
    with open("errors", "w+", encoding="utf-8") as errors:
        before = os.dup(2)
        os.dup2(errors.fileno(), 2)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            status = main(words(name, "--time-limit", "0.5", "--resume"))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
        errors.seek(0)
        return status, errors.read()


def batch(mutants):
    """(Verdict, messages) of each of the mutants, tried in one child; of fewer where it does not
    live to the last."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.resetwarnings()
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        with open(writing, "w", encoding="utf-8") as out:
            for name, content, _ in mutants:
                status, errors = tried(name, content)
                print(json.dumps([verdict(status, errors), status, errors]), file=out, flush=True)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    if len(found) < len(mutants):
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        ended = {signal.SIGPROF: "beyond its time"}.get(
            number, f"killed by signal {number}, status {status}"
        )
        found.append([ended, None, ""])
    return found


def attack(count, seed, names=tuple(RUNS), report=lambda line: None):
    """Findings of so many mutants of all runs in turn, and how the others ended, by status."""
    choose, findings, ends = random.Random(seed), [], {}
    data(choose)
    whole = {name: checkpoints(name) for name in names}
    for name, known in whole.items():
        for wrong, status, errors in batch([(name, content, "") for content in known]):
            assert not wrong and status in (0, 3), (
                f"{name} does not go on from its own checkpoint: {wrong} {errors}"
            )
    mutants = []
    for k in range(count):
        name = names[k % len(names)]
        mutants.append((name, *mutant(choose, choose.choice(whole[name]))))
    while mutants:
        part = mutants[:50]
        for (name, content, change), (wrong, status, errors) in zip(
            part, found := batch(part), strict=False
        ):
            ends[status] = ends.get(status, 0) + 1
            if wrong:
                findings.append(f"{name}: {change}: {wrong}: {errors.strip()}")
                report(findings[-1])
                if keep := os.environ.get("SVMCUT_KEEP"):
                    with open(f"{keep}/{len(findings)}", "wb") as file:
                        file.write(content)
        mutants = mutants[len(found) :]
    return findings, ends


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    count, seed = (numbers + [2000, 0][len(numbers) :])[:2]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        findings, ends = attack(count, seed, report=print)
    print(
        f"{count} mutants, {len(findings)} findings; trained {ends.get(0, 0)}, to a limit "
        f"{ends.get(3, 0)}, "
        f"refused {ends.get(1, 0)}"
    )
    sys.exit(bool(findings))
