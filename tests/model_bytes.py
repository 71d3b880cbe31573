#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Digests of the models of many runs, to hold one commit against another on one machine.

    python tests/model_bytes.py record bytes.json [--bin DIR] [--only REGEX]
    python tests/model_bytes.py compare bytes.json [--bin DIR] [--only REGEX]

The runs go over tasks, losses, solvers, kernels, paths of C, resumed runs and the originals' names,
on the sets in data/. Bytes differ between machines (vector instructions, mathematical libraries):
what is recorded is not kept.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
LEARN, RANK = ("svmcut", "learn"), ("svmcut", "rank")
LOSSES = (
    "zero-one",
    "f1",
    "error-rate",
    "prbep",
    "prec-at-k",
    "rec-at-k",
    "roc-area",
    "average-precision",
)
TABLES = LOSSES[:6]
KERNELS = {
    "linear": ("-t", "0"),
    "rbf": ("-t", "2", "-g", "0.1"),
    "sigmoid": ("-t", "3", "-s", "0.01", "-r", "0"),
    "polynomial": ("-t", "1", "-d", "2", "-s", "0.1", "-r", "1"),
}
KERNEL_SOLVERS = (
    "smo",
    "cutting-plane",
    "subspace",
    "sampled-cuts",
    "constant-cuts",
    "bsca",
    "bsgd",
    "sbp",
    "pegasos",
    "sdca",
    "perceptron",
)


def runs() -> dict[str, tuple]:
    """Program and options by name; the set stands first, {stop} where a run is stopped and
    resumed."""
    found: dict[str, tuple] = {}

    def add(name: str, data: str, program: tuple, *options: str) -> None:
        assert name not in found, name
        found[name] = (data, program, options)

    small, rare, text = "breast_cancer.train", "unbalanced.train", "text.train"
    for loss in LOSSES:
        add(f"{loss}", small, LEARN, "-l", loss, "-c", "1")
        add(f"{loss}, rare", rare, LEARN, "-l", loss, "-c", "20", "-e", "1")
        add(
            f"svm_perf_learn {loss}",
            small,
            ("svm_perf_learn",),
            *("-w", "3", "-l", loss_number(loss), "-c", "0.5"),
        )
    for loss in TABLES:
        add(f"{loss}, slack rescaling", small, LEARN, "-l", loss, "-o", "slack", "-c", "0.3")
        add(f"{loss}, squared slack", small, LEARN, "-l", loss, "-p", "2", "-c", "0.01", "-e", "1")
    add(
        "error-rate, slack rescaling, squared",
        small,
        LEARN,
        *("-o", "1", "-p", "2", "-c", "0.01", "-e", "1"),
    )
    for solver in ("auto", "cutting-plane", "dual-cd", "newton"):
        for C in ("0.01", "1", "30"):
            add(
                f"{solver}, C {C}",
                text,
                LEARN,
                *("--solver", solver, "--example-cost", C, "--gap", "1e-3"),
            )
        add(
            f"{solver}, no bias", rare, LEARN, "--solver", solver, "--example-cost", "1", "--b", "0"
        )
        add(
            f"{solver}, bias 3, path",
            small,
            LEARN,
            *("--solver", solver, "--example-cost", "0.1,1", "--b", "3"),
        )
        add(
            f"{solver}, resumed",
            text,
            LEARN,
            *("--solver", solver, "-c", "20", "--gap", "1e-4", "{stop}"),
        )
    add(
        "select",
        small,
        LEARN,
        *("-c", "0.1,1,10", "--validate", str(DATA / "breast_cancer.test"), "--select", "f1"),
    )
    add("f1, resumed", rare, LEARN, "-l", "f1", "-c", "100", "{stop}")
    add("path, resumed", text, LEARN, "-l", "roc-area", "-c", "1,10", "{stop}")
    add("prec-at-k of a tenth", rare, LEARN, "-l", "prec-at-k", "--p", "0.1", "-c", "10")
    for algorithm in "012349":
        add(
            f"svm_perf_learn -w {algorithm}", small, ("svm_perf_learn",), "-w", algorithm, "-c", "2"
        )
    add(
        "svm_perf_learn rbf",
        small,
        ("svm_perf_learn",),
        *("-t", "2", "-g", "0.1", "--b", "0", "-c", "1", "--k", "20"),
    )
    add(
        "svm_perf_learn --t 2",
        small,
        ("svm_perf_learn",),
        *("-t", "2", "-g", "0.1", "--b", "0", "-c", "1", "-w", "3", "--t", "2", "--i", "0"),
        *("--k", "30"),
    )
    for kernel, words in KERNELS.items():
        for solver in KERNEL_SOLVERS:
            if kernel == "linear" and solver == "cutting-plane":
                continue
            if kernel == "sigmoid" and solver in (
                "cutting-plane",
                "subspace",
                "sampled-cuts",
                "constant-cuts",
                "sbp",
            ):
                continue
            add(
                f"{solver}, {kernel}",
                small,
                LEARN,
                *(*words, "--solver", solver, "--example-cost", "1", "--b", "0"),
                *(("--budget", "40", "--epochs", "3") if solver in ("bsca", "bsgd") else ()),
            )
    rbf = KERNELS["rbf"]
    for solver in KERNEL_SOLVERS:
        add(
            f"{solver}, rbf, resumed",
            small,
            LEARN,
            *(*rbf, "--solver", solver, "--example-cost", "10", "{stop}"),
            *(("--budget", "40", "--epochs", "3") if solver in ("bsca", "bsgd") else ()),
        )
        if solver in ("smo", "cutting-plane", "subspace", "sampled-cuts"):
            add(
                f"{solver}, rbf, path",
                small,
                LEARN,
                *(*rbf, "--solver", solver, "--example-cost", "0.1,10"),
            )
    for solver in ("bsca", "bsgd", "sbp", "pegasos", "sdca", "perceptron"):
        add(
            f"{solver}, bare, held out",
            small,
            LEARN,
            *(*rbf, "--solver", solver, "-c", "5", "--hold-out", "0.2", "--no-polish"),
            *(("--budget", "40") if solver in ("bsca", "bsgd") else ()),
        )
    for solver in ("sampled-cuts", "constant-cuts"):
        add(
            f"{solver}, bare",
            small,
            LEARN,
            *(*rbf, "--solver", solver, "-c", "5", "--no-polish", "--sample-size", "50"),
        )
    for solver in ("pegasos", "sdca", "perceptron"):
        add(
            f"{solver}, polished",
            small,
            LEARN,
            *(*rbf, "--solver", solver, "-c", "5", "--polish", "--k", "40"),
        )
    add(
        "bsca, adaptive",
        small,
        LEARN,
        *(*rbf, "--solver", "bsca", "-c", "5", "--sampling", "adaptive", "--budget", "30"),
    )
    add("smo without bias", small, LEARN, *rbf, "--solver", "smo", "--no-free-bias", "-c", "5")
    add("smo to a gap", small, LEARN, *rbf, "--solver", "smo", "--gap", "1e-6", "-c", "5")
    add("auto, rbf", small, LEARN, *rbf, "-c", "5")
    for loss in ("f1", "roc-area", "prbep"):
        add(f"{loss}, rbf", small, LEARN, *rbf, "-l", loss, "-c", "1", "-e", "0.5")
        add(
            f"{loss}, subspace",
            small,
            LEARN,
            *(*rbf, "-l", loss, "-c", "1", "--solver", "subspace", "--k", "30"),
        )
    numbers = (*LEARN, "--task", "regression", *rbf, "-c", "1")
    for solver in ("auto", "smo", "cutting-plane", "subspace", "bsca", "bsgd"):
        add(f"regression, rbf, {solver}", small, numbers, "--solver", solver)
        add(f"regression, rbf, {solver}, resumed", small, numbers, "--solver", solver, "{stop}")
    add(
        "regression, rbf, path without bias",
        small,
        numbers[:-2],
        *("-c", "0.1,10", "--solver", "smo", "--no-free-bias"),
    )
    grades = (*LEARN, "--task", "multiclass", *rbf, "--solver")
    for way in ("one-vs-rest", "one-vs-one"):
        for solver in ("smo", "subspace", "bsca"):
            add(
                f"classes, {way}, {solver}",
                "ranking.train",
                grades,
                solver,
                "--multiclass",
                way,
                "--k",
                "40",
                *(("--budget", "40", "--epochs", "3") if solver == "bsca" else ()),
            )
        add(
            f"classes, {way}, resumed",
            "ranking.train",
            grades,
            "smo",
            "--multiclass",
            way,
            "{stop}",
        )
    ranking = "ranking.train"
    for loss in ("swapped-pairs", "swapped-fraction", "pairs"):
        add(f"rank {loss}", ranking, RANK, "-l", loss, "-c", "1")
        add(
            f"rank {loss}, subspace",
            ranking,
            RANK,
            *("-l", loss, "-c", "0.1", *rbf, "--solver", "subspace", "--k", "30"),
        )
    for loss in ("map", "ndcg"):
        add(f"rank {loss}", ranking, RANK, "-l", loss, "-c", "30")
        add(f"rank {loss}, resumed", ranking, RANK, "-l", loss, "-c", "300", "{stop}")
        add(
            f"rank {loss}, subspace",
            ranking,
            RANK,
            *("-l", loss, "-c", "3", *rbf, "--solver", "subspace", "--k", "30"),
        )
    add("rank, path", ranking, RANK, "--example-cost", "0.01,0.1")
    add("rank, resumed", ranking, RANK, "-c", "3", "{stop}")
    add("rank, rbf", ranking, RANK, *rbf, "-c", "0.1", "-e", "0.1")
    add(
        "rank, sampled cuts",
        ranking,
        RANK,
        *(*rbf, "-c", "0.1", "-e", "0.1", "--solver", "sampled-cuts"),
    )
    for algorithm in "034":
        add(
            f"svm_rank_learn -w {algorithm}",
            ranking,
            ("svm_rank_learn",),
            "-w",
            algorithm,
            "-c",
            "3",
        )
    add("svm_rank_learn -l 2", ranking, ("svm_rank_learn",), "-l", "2", "-c", "3")
    chain = (*LEARN, "--task", "sequence")
    for solver in ("auto", "cutting-plane", "bcfw", "ssg", "soft-bcfw", "gdmm"):
        stop = ("--max-iterations", "3") if solver in ("ssg", "soft-bcfw") else ()
        add(
            f"sequence, {solver}",
            "tags.train",
            chain,
            *("--solver", solver, "--example-cost", "0.1", *stop),
        )
    for solver in ("cutting-plane", "bcfw", "gdmm"):
        add(
            f"sequence, {solver}, resumed",
            "tags.train",
            chain,
            *("--solver", solver, "--example-cost", "0.3", "{stop}"),
        )
    add("sequence, path", "tags.train", chain, "-c", "1,10", "-e", "1", "--solver", "cutting-plane")
    add("sequence, --t 2 --e 1", "tags.train", chain, "-c", "3", "-e", "2", "--t", "2", "--e", "1")
    add("sequence, zero-one", "tags.train", chain, "-c", "3", "-l", "zero-one", "-e", "0.2")
    add("sequence, slack", "tags.train", chain, "-c", "1", "-o", "slack", "-e", "2")
    add("sequence, squared slack", "tags.train", chain, "-c", "1", "-p", "2", "-e", "2")
    add(
        "sequence, beam",
        "tags.train",
        chain,
        *("-c", "1", "--b", "3", "--solver", "cutting-plane", "-e", "1"),
    )
    for solver in ("cutting-plane", "sampled-cuts"):
        add(
            f"sequence, rbf, {solver}",
            "tags.train",
            chain,
            *("-c", "3", *rbf, "-e", "2", "--solver", solver),
        )
    add("svm_hmm_learn", "tags.train", ("svm_hmm_learn",), "-c", "3", "-e", "1")
    add("svm_hmm_learn --e 1", "tags.train", ("svm_hmm_learn",), "-c", "3", "-e", "2", "--e", "1")
    sets = (*LEARN, "--task", "multilabel")
    for pairs in ("all", "none"):
        for solver in ("auto", "cutting-plane", "bcfw", "ssg", "soft-bcfw", "gdmm"):
            stop = ("--max-iterations", "3") if solver in ("ssg", "soft-bcfw") else ()
            add(
                f"multilabel, {solver}, pairs {pairs}",
                "labels.train",
                sets,
                *("--solver", solver, "--pairs", pairs, "--example-cost", "0.1", "-e", "0.3"),
                *stop,
            )
        add(
            f"multilabel, pairs {pairs}, resumed",
            "labels.train",
            sets,
            *("--pairs", pairs, "-c", "30", "{stop}"),
        )
    add("multilabel, path", "labels.train", sets, "-c", "3,30", "-e", "0.5", "--b", "0")
    return found


def loss_number(loss: str) -> str:
    """svm_perf's -l."""
    return str({"roc-area": 10, "average-precision": 11}.get(loss, LOSSES.index(loss)))


def digest(folder: Path) -> str:
    """Of all models in a folder, in the order of their names."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        lines = path.read_bytes().splitlines(True)  # but for certificates and checksums
        sealing = (b"#@ cost ", b"#@ certificate ", b"#@ crc32 ")
        text = b"".join(line for line in lines if not line.startswith(sealing))
        total.update(path.name.encode() + b"\0" + text + b"\0")
    return total.hexdigest()[:32]


def result(folder: str, run: tuple) -> list:
    """Exit status and digest of one run; {stop} stands for a run of two iterations that another
    goes on from."""
    data, (program, *first), options = run
    state = tempfile.mktemp()
    with tempfile.TemporaryDirectory() as models:
        files = [str(DATA / data), os.path.join(models, "model")]
        given = [word for word in options if word != "{stop}"]
        line = [os.path.join(folder, program), *first, *given]
        if program == "svmcut":
            line += ["--no-progress", "--threads", "1"]
        if "{stop}" in options:
            line += ["--checkpoint", state]
            subprocess.run([*line, "--max-iterations", "2", *files], capture_output=True)
            line.append("--resume")
        done = subprocess.run([*line, *files], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            return [done.returncode, done.stderr.strip().splitlines()[-1:]]
        return [done.returncode, digest(Path(models))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--bin", default=os.path.dirname(sys.executable), help="folder of the programs"
    )
    parser.add_argument("--only", default="", help="names of runs that match")
    parser.add_argument("--jobs", type=int, default=2)
    words = parser.parse_args()
    chosen = {name: run for name, run in runs().items() if re.search(words.only, name)}
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        found = dict(
            zip(chosen, pool.map(lambda run: result(words.bin, run), chosen.values()), strict=True)
        )
    if words.verb == "record":
        words.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        failed = [f"{name}: {value}" for name, value in found.items() if value[0] not in (0, 3)]
        print(*failed, f"{len(found)} runs recorded, {len(failed)} refused", sep="\n")
        return 0
    before = json.loads(words.file.read_text(encoding="utf-8"))
    differing = [name for name in found if found[name] != before.get(name)]
    for name in differing:
        print(f"{name}: {before.get(name)} before, {found[name]} now")
    print(
        f"{len(found)} runs, {len(found) - len(differing)} with the same bytes, {len(differing)} "
        "differ"
    )
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
