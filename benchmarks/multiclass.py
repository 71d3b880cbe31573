# SPDX-License-Identifier: BSD-3-Clause
"""How long does a linear machine of several classes take from the text file to the model? svmcut
beside LIBLINEAR.

    python benchmarks/multiclass.py -C 0.1 1 10 --rounds 3 FILE ...

Crammer and Singer beside liblinear-train -s 4, one against the rest beside -s 3, with the squared
hinge beside -s 1 and with the logistic loss beside -s 7 (the duals), all with the bias inside w.
svmcut is asked for the gap that LIBLINEAR's model has, which a run to --gap tells first. Whole
processes on one pinned CPU, in alternating rounds, and CPU seconds; one evaluator computes every
objective from the written model. FILEs are plain text in LIBSVM's format, as LIBLINEAR reads it.
liblinear-train is needed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from arguments import learn, make_parser
from timing import cpu_medians, time_process

from svmcut.files.examples import read_examples
from svmcut.formats import read_model
from svmcut.models import MulticlassModel
from svmcut.risks import make_risk
from svmcut.risks.multiclass import CrammerSingerRisk
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.spec.parameters import Settings

#: LIBLINEAR's -s, parameter multiclass and the loss.
WAYS = {
    "crammer-singer": ("4", "crammer-singer", "error-rate"),
    "one-vs-rest": ("3", "one-vs-rest", "error-rate"),
    "squared-hinge": ("1", "one-vs-rest", "squared-hinge"),
    "logistic": ("7", "one-vs-rest", "logistic"),
}


def objective(model: MulticlassModel, examples, way: str, C: float) -> float:
    """The primal of a model, from its scores; LIBLINEAR's classes are in the order of its file."""
    order = np.argsort(model.names)
    scores, y = (
        model.scores(examples.X),
        order[np.searchsorted(model.names, examples.y, sorter=order)],
    )
    squared = float((model.W**2).sum() + (model.constant**2).sum())
    K, (_, multiclass, loss) = len(model.names), WAYS[way]
    rest = multiclass == "one-vs-rest"
    risk = (
        OneVsRestRisk.of_classes(make_risk(Settings(loss=loss)), y, K)
        if rest
        else CrammerSingerRisk(y, K)
    )
    return 0.5 * squared + C * risk.linearize(scores.ravel()).value


def compare(path: Path, way: str, C: str, epsilon: str, gap: str, rounds: int) -> str:
    """One line of the table."""
    examples, (number, multiclass, loss) = read_examples(str(path)), WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours, report = (Path(folder) / name for name in ("liblinear", "svmcut", "report"))
        commands = (
            [
                *("liblinear-train", "-q", "-s", number, "-B", "1", "-e", epsilon, "-c", C),
                *(str(path), str(theirs)),
            ],
            learn(
                *("multiclass", "--multiclass", multiclass, "-l", loss, "--example-cost", C),
                *("--gap", gap, "--report", report, path, ours),
            ),
        )
        for command in commands:
            time_process(command)
        dual = json.loads(report.read_text(encoding="utf-8"))["dual"]
        reached = objective(read_model(str(theirs)), examples, way, float(C))
        gap_there = (reached - dual) / reached
        commands[1][commands[1].index("--gap") + 1] = f"{gap_there:.6g}"
        liblinear, svmcut = cpu_medians(commands, rounds)
        values = [
            objective(read_model(str(model)), examples, way, float(C)) for model in (theirs, ours)
        ]
        told = json.loads(report.read_text(encoding="utf-8"))
    return (
        f"| {path.name} | {way} | {C} | {liblinear:.2f} | {gap_there:.1e} | {svmcut:.2f} | "
        f"{told['relative_gap']:.1e} | {values[1] / values[0] - 1:+.1e} | "
        f"{svmcut / liblinear:.2f} |"
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-C", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--way", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--epsilon", default="0.1", help="of LIBLINEAR")
    parser.add_argument(
        "--gap", default="0.001", help="of the run that certifies LIBLINEAR's model"
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| file | way | C | LIBLINEAR s | its gap | svmcut s | its gap | objective | ratio |\n|"
        + "---|" * 9
    )
    for path in given.files:
        for way in given.way:
            for C in given.C:
                print(compare(path, way, C, given.epsilon, given.gap, given.rounds), flush=True)


if __name__ == "__main__":
    main()
