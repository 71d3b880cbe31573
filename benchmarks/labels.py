# SPDX-License-Identifier: BSD-3-Clause
"""Do other labels change anything? One set with labels 1/2, 0/1, -1/+1 and +3/+7, beside
scikit-learn's measures.

    python benchmarks/labels.py [--train FILE --test FILE] [-- OPTIONS OF LEARN]

The files have two different labels, which are put in the place of one another. A row of the table
has the measures that `svmcut classify` prints; whether scikit-learn computes the same from the test
file, the scores and the labels of `--labels`, confusion table included; whether these are labels of
the test file and agree with the scores; and whether the model is that of the first row but for its
line of labels. The status is 1 where an answer is no.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from arguments import SVMCUT, make_parser
from sklearn import metrics

DATA = Path(__file__).resolve().parents[1] / "data"
PAIRS = (("1", "2"), ("0", "1"), ("-1", "+1"), ("+3", "+7"))
NAMES = ("Accuracy", "Precision", "Recall", "F1", "ROC area", "Average precision")


def relabelled(source: Path, target: Path, pair: tuple[str, str]) -> None:
    """The file with other labels, the smaller for the smaller."""
    rows = [line.split(maxsplit=1) for line in source.read_text().splitlines()]
    low, high = sorted({float(label) for label, _ in rows})
    new = {low: pair[0], high: pair[1]}
    target.write_text("".join(f"{new[float(label)]} {features}\n" for label, features in rows))


def run(*words: str) -> list[str]:
    """Lines that svmcut prints."""
    done = subprocess.run([SVMCUT, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"svmcut {' '.join(words)}: status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def by_scikit_learn(
    test: Path, scores: Path, labels: Path, positive: float
) -> tuple[list[str], list[list[int]]]:
    """The measures as svmcut prints them, and the confusion table, of three files."""
    y = np.array([float(line.split()[0]) for line in test.read_text().splitlines()])
    score, predicted = np.loadtxt(scores), np.loadtxt(labels)
    values = [metrics.accuracy_score(y, predicted)]
    values += metrics.precision_recall_fscore_support(
        y, predicted, labels=[positive], average="binary", pos_label=positive, zero_division=0.0
    )[:3]
    values += [
        metrics.roc_auc_score(y == positive, score),
        metrics.average_precision_score(y == positive, score),
    ]
    return [f"{100 * value:.2f}" for value in values], metrics.confusion_matrix(
        y, predicted
    ).tolist()


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--train", type=Path, default=DATA / "breast_cancer.train")
    parser.add_argument("--test", type=Path, default=DATA / "breast_cancer.test")
    parser.add_argument(
        "options", nargs="*", help="of svmcut learn, behind --", default=["-c", "1"]
    )
    given = parser.parse_args()
    print(
        f"| labels | {' | '.join(NAMES)} | as scikit-learn | labels back | model "
        f"|\n|{'---|' * (len(NAMES) + 4)}"
    )
    models, wrong = [], False
    for pair in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            train, test, model, scores, labels = (
                Path(folder, name) for name in ("train", "test", "m", "s", "l")
            )
            relabelled(given.train, train, pair)
            relabelled(given.test, test, pair)
            run("learn", "-v", "0", *given.options, str(train), str(model))
            lines = run("classify", "-v", "0", str(test), str(model), str(scores))
            run("classify", "-v", "0", "--labels", str(test), str(model), str(labels))
            printed = [
                line.split()[-2] for name in NAMES for line in lines if line.startswith(f"{name} ")
            ]
            start = (
                next(
                    number
                    for number, line in enumerate(lines)
                    if line.startswith("true \\ predicted")
                )
                + 1
            )
            table = [[int(word) for word in line.split()[1:]] for line in lines[start : start + 2]]
            expected = by_scikit_learn(test, scores, labels, float(pair[1]))
            above = np.where(np.loadtxt(scores) > 0, float(pair[1]), float(pair[0]))
            back = bool((np.loadtxt(labels) == above).all())
            texts = model.read_text().splitlines()
        models.append([line for line in texts if not line.startswith("#@ labels")])
        answers = ((printed, table) == expected, back, models[-1] == models[0])
        wrong |= not all(answers)
        cells = ["yes" if answer else "NO" for answer in answers[:2]] + [
            "same" if answers[2] else "OTHER"
        ]
        print(f"| {'/'.join(pair)} | {' | '.join(printed + cells)} |")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
