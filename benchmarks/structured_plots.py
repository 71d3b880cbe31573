# SPDX-License-Identifier: BSD-3-Clause
"""The curves of docs/benchmarks-structured.md: objective and test error over CPU seconds, every
structured trainer.

    python benchmarks/structured_plots.py chains 800.csv --tags 800 --trainers gdmm-sublinear,bcfw
    python benchmarks/structured_plots.py sequences letters.csv TRAIN TEST --example-cost 0.1 python
    benchmarks/structured_plots.py crfsuite letters.csv TRAIN TEST      more curves for the same
    file python benchmarks/structured_plots.py labels scene.csv TRAIN TEST python
    benchmarks/structured_plots.py draw docs/plots/chains.svg 50.csv 800.csv

The first four run on one thread, examples in memory, and add lines to a CSV file;
benchmarks/structured_curves.py says what is counted. "chains" generates its data
(benchmarks/generate_chains.py). crfsuite is trained anew for every number of iterations, and shows
no objective: its own is another one. "draw" makes a figure of such files and runs nothing: a column
a file, above (P - best) / best with the lowest P of the file as the best, below the test error. The
figures are those of Yen, Huang, Zhong, Zhang, Dhillon and Ravikumar, NIPS 2016, Figures 2 and 3, on
other data.
"""

from __future__ import annotations

import tempfile
import time
from itertools import chain
from pathlib import Path

import numpy as np
from arguments import make_parser
from structured_curves import Point, Task, read, record, write

from svmcut.files.multilabel import read_multilabel
from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.models import ChainModel, ChainShape
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spec.parameters import Settings
from svmcut.structured.chain import ChainSequences
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import make_task
from svmcut.training.driver import make_driver

TRAINERS = {
    "chains": "gdmm-sublinear,gdmm-all-pairs,bcfw,ssg,soft-bcfw:1,soft-bcfw:10",
    "sequences": "gdmm,bcfw,ssg,cutting-plane,soft-bcfw:1,soft-bcfw:10",
    "labels": "gdmm,bcfw,ssg,cutting-plane,soft-bcfw:1,soft-bcfw:10",
    "crfsuite": "ap,pa,l2sgd,lbfgs",
}
RULE = StoppingRule(0.0)  # the curves' own stands in its place


def chains(given) -> Task:
    """Generated sequences of K tags."""
    from many_tags import sequences_of

    parts = ((given.sequences, 1), (given.test_sequences, 2))
    train, test = (sequences_of(given.tags, count, stream) for count, stream in parts)
    shape = ChainShape(given.tags, train.X.n_features)

    def error(w):
        return 100 * float(np.mean(ChainModel(w, shape).tags(test.X, test.indptr) != test.tags))

    model = ChainSequences(train, shape)
    return Task(model, given.example_cost, error, "sequence", None, given.time_limit, given.growth)


def sequences(given) -> Task:
    """Files of svm_hmm."""
    settings = Settings(task="sequence", example_cost=given.example_cost, threads=1)
    plan = make_driver(settings, read_sequences(given.train)).plan
    model, parts = plan.model, list(stream_sequences(given.test))
    exact = Problem(*plan.cuts(), given.example_cost, RULE)

    def error(w):
        tagger = plan.make_model(w)
        wrong = sum(int(np.sum(tagger.tags(part.X, part.indptr) != part.tags)) for part in parts)
        return 100 * wrong / sum(len(part.tags) for part in parts)

    return Task(model, given.example_cost, error, "sequence", exact, given.time_limit, given.growth)


def labels(given) -> Task:
    """LIBSVM's multilabel files."""
    train, test = read_multilabel(given.train), read_multilabel(given.test)
    settings = Settings(task="multilabel", example_cost=given.example_cost, threads=1)
    plan = make_driver(settings, train).plan
    model = plan.model
    exact = Problem(*plan.cuts(), given.example_cost, RULE)

    def error(w):
        return measure(make_task("multilabel"), plan.make_model(w), test)["hamming_loss"]

    return Task(
        model, given.example_cost, error, "multilabel", exact, given.time_limit, given.growth
    )


def crfsuite(given):
    """Points of python-crfsuite's trainers, each run anew for every number of iterations."""
    import pycrfsuite
    from sequences import crf_sequences

    items, tags = crf_sequences(given.train)
    test_items, test_tags = crf_sequences(given.test)
    for algorithm in given.trainers.split(","):
        regularised = {"c2": 1.0} if algorithm in ("l2sgd", "lbfgs") else {}
        for iterations in given.iterations:
            trainer = pycrfsuite.Trainer(
                algorithm, regularised | {"max_iterations": iterations}, verbose=False
            )
            for x, y in zip(items, tags, strict=True):
                trainer.append(x, y)
            with tempfile.NamedTemporaryFile() as model:
                began = time.process_time()
                trainer.train(model.name)
                seconds = time.process_time() - began
                tagger = pycrfsuite.Tagger()
                tagger.open(model.name)
                wrong = [
                    sum(a != b for a, b in zip(tagger.tag(x), y, strict=True))
                    for x, y in zip(test_items, test_tags)
                ]
            error = 100 * sum(wrong) / sum(map(len, test_tags))
            yield Point(f"crfsuite {algorithm}", seconds, float("nan"), float("nan"), error)


def draw(target: Path, files: list[Path]) -> None:
    """A figure of CSV files, a row each; the last point of every curve goes to standard output."""
    from style import legend, look, panels, save

    figure, axes = panels(len(files), 2)
    print("| set | trainer | CPU s | primal | bound | test error |\n|---|---|---:|---:|---:|---:|")
    for (objective, errors), path in zip(axes, files, strict=True):
        points = read(path)
        best = np.nanmin([point.primal for point in points])
        for trainer in dict.fromkeys(point.trainer for point in points):
            curve = [point for point in points if point.trainer == trainer]
            last = curve[-1]
            numbers = f"{last.seconds:.2f} | {last.primal:.6g} | {last.dual:.6g} | {last.error:.2f}"
            print(f"| {path.stem} | {trainer} | {numbers} |")
            seconds = np.array([point.seconds for point in curve])
            distance = np.array([point.primal for point in curve]) / best - 1
            shown = (
                distance > 0
            )  # not where it is nan, nor for the best itself, which is at minus infinity
            objective.loglog(seconds[shown], distance[shown], **look(trainer, markersize=2.5))
            errors.loglog(
                seconds, [point.error for point in curve], **look(trainer, markersize=2.5)
            )
        objective.set(title=path.stem, xlabel="CPU seconds", ylabel="(P - best) / best")
        errors.set(title=path.stem, xlabel="CPU seconds", ylabel="test error, %")
    legend(figure)
    save(figure, target)


def main() -> None:
    """Reads the command line."""
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    for name, trainers in TRAINERS.items():
        command = commands.add_parser(name)
        command.add_argument("target", type=Path, metavar="CSV", help="lines are added to it")
        command.add_argument("--trainers", default=trainers, help=f"default: {trainers}")
        if name != "chains":
            command.add_argument("train")
            command.add_argument("test")
        if name == "crfsuite":
            command.add_argument("--iterations", type=int, nargs="+", default=[1, 3, 10, 30])
            continue
        command.add_argument("--example-cost", type=float, default=1.0)
        command.add_argument(
            "--time-limit", type=float, default=10.0, help="counted CPU seconds of a trainer"
        )
        command.add_argument(
            "--growth", type=float, default=1.3, help="of the seconds from point to point"
        )
        if name == "chains":
            command.add_argument("--tags", type=int, default=200)
            command.add_argument("--sequences", type=int, default=600)
            command.add_argument("--test-sequences", type=int, default=100)
    command = commands.add_parser("draw")
    command.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    command.add_argument("files", type=Path, nargs="+", metavar="CSV")
    given = parser.parse_args()
    if given.what == "draw":
        draw(given.target, given.files)
    elif given.what == "crfsuite":
        write(given.target, crfsuite(given))
    else:
        task = {"chains": chains, "sequences": sequences, "labels": labels}[given.what](given)
        write(
            given.target,
            chain.from_iterable(record(task, name) for name in given.trainers.split(",")),
        )


if __name__ == "__main__":
    main()
