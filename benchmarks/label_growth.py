# SPDX-License-Identifier: BSD-3-Clause
"""How does the time of gdmm and of bcfw grow with the number of labels, and what does drawing parts
of them save?

    python benchmarks/label_growth.py record growth.csv --labels 57 114 228 410 --trainers gdmm bcfw
    python benchmarks/label_growth.py draw docs/plots/label-growth.svg growth.csv

"record" trains on text of benchmarks/generate_label_sets.py, one thread, and adds a line to CSV at
every look of a trainer at its gap: CPU seconds, looks and all, primal value, lower bound and
passes. "gdmm:N" draws one of N parts of the labels at a visit (--parts). A run ends at a certified
gap of --gap, or at --time-limit CPU seconds. "draw" prints the seconds to certified gaps, and to an
objective at most 1 % above the lowest of any trainer on as many labels, and draws those to the
smallest gap and the ratios to gdmm. The setting is that of Yen, Huang, Zhong, Zhang, Dhillon and
Ravikumar, NIPS 2016, Figure 3: RCV1's regions have 228 labels, EUR-Lex 410.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arguments import make_recorder
from generate_label_sets import Language, write

from svmcut.files.multilabel import read_multilabel
from svmcut.solvers.gdmm import Gdmm
from svmcut.solvers.protocol import StoppingRule
from svmcut.spec.parameters import Settings
from svmcut.structured.protocol import StructuredProblem
from svmcut.training.driver import make_driver, make_solver

GAPS = (0.1, 0.03, 0.01)
NEAR = 1.01  # times the lowest objective


class Look(NamedTuple):
    """A trainer's state at a look; labels are those asked for, not all of which occur."""

    labels: int
    trainer: str
    seconds: float
    primal: float
    dual: float
    passes: float


def labels_of(count: int, given):
    """Examples in memory, as files give them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train"
        with path.open("w", encoding="ascii") as out:
            write(out, Language(count, given.features, given.seed), given.examples, given.seed, 1)
        return read_multilabel(str(path))


def looks(count: int, trainer: str, model, given) -> Iterator[Look]:
    """Those of one run."""
    name, _, parts = trainer.partition(":")
    solver = Gdmm(parts=int(parts)) if parts else make_solver(name, Settings(task="multilabel"))
    began = time.process_time()
    for look in solver.start(
        StructuredProblem(model, given.example_cost, StoppingRule(0.0, given.gap))
    ):
        seconds = time.process_time() - began
        yield Look(count, trainer, seconds, look.primal, look.dual, look.passes)
        if seconds > given.time_limit:
            return


def record(given) -> None:
    """All runs, a line as soon as a look is over."""
    new = not given.target.exists()
    with given.target.open("a", newline="", encoding="ascii") as stream:
        out = csv.writer(stream, lineterminator="\n")
        if new:
            out.writerow(Look._fields)
        for count in given.labels:
            settings = Settings(
                task="multilabel", example_cost=given.example_cost, solver="gdmm", threads=1
            )
            model = make_driver(settings, labels_of(count, given)).plan.model
            for trainer in given.trainers:
                for look in looks(count, trainer, model, given):
                    out.writerow(
                        [f"{value:.7g}" if isinstance(value, float) else value for value in look]
                    )
                    stream.flush()


def read(path: Path) -> dict[tuple[int, str], list[Look]]:
    """The looks that `record` wrote, by run."""
    with path.open(newline="", encoding="ascii") as stream:
        head, *lines = csv.reader(stream)
    if tuple(head) != Look._fields:
        raise SystemExit(
            f"{path}:1: its columns are not those of label_growth.py; record the file anew"
        )
    runs: dict[tuple[int, str], list[Look]] = {}
    for labels, trainer, *numbers in lines:
        runs.setdefault((int(labels), trainer), []).append(
            Look(int(labels), trainer, *map(float, numbers))
        )
    return runs


def first(run: list[Look], met) -> float:
    """Seconds of the first look that meets a condition, nan where none does."""
    return next((look.seconds for look in run if met(look)), float("nan"))


def draw(given) -> None:
    """Prints the table and draws the figure."""
    from style import SKY, legend, look, panels, save

    runs = read(given.file)
    best = {
        count: min(at.primal for key in runs if key[0] == count for at in runs[key])
        for count, _ in runs
    }
    near = {
        key: first(run, lambda at, key=key: at.primal <= NEAR * best[key[0]])
        for key, run in runs.items()
    }
    met = {
        gap: {
            key: first(run, lambda at, gap=gap: at.primal - at.dual <= gap * at.primal)
            for key, run in runs.items()
        }
        for gap in GAPS
    }
    closed = met[GAPS[-1]]
    heads = [
        *(f"gap {gap:g}" for gap in GAPS),
        "ratio",
        "best + 1 %",
        "ratio",
        "passes",
        "primal",
        "gap at the end",
    ]
    print(f"| labels | trainer | {' | '.join(heads)} |\n|---:|---|{'---:|' * len(heads)}")
    for key, run in sorted(runs.items(), key=lambda item: item[0][0]):
        usual, last = (key[0], "gdmm"), run[-1]
        cells = [
            *(met[gap][key] for gap in GAPS),
            closed[key] / closed[usual],
            near[key],
            near[key] / near[usual],
        ]
        words = ["-" if cell != cell else f"{cell:.2f}" for cell in cells]
        words += [
            f"{last.passes:.0f}",
            f"{last.primal:.2f}",
            f"{100 * (last.primal - last.dual) / last.primal:.2f} %",
        ]
        print(f"| {key[0]} | {key[1]} | {' | '.join(words)} |")
    figure, ((seconds, ratios),) = panels(1, 2)
    for trainer in dict.fromkeys(trainer for _, trainer in runs):
        counts = sorted(count for count, name in runs if name == trainer)
        name, _, parts = trainer.partition(":")
        style = look(name) | ({"label": f"{name} --parts {parts}", "color": SKY} if parts else {})
        seconds.loglog(counts, [closed[count, trainer] for count in counts], **style)
        if trainer != "gdmm":
            for what, how in ((closed, style), (near, style | {"linestyle": "--"})):
                ratios.semilogx(
                    counts, [what[count, trainer] / what[count, "gdmm"] for count in counts], **how
                )
    ratios.axhline(1.0, **look("gdmm", marker=""))
    ratios.set(xlabel="labels", ylabel="ratio to gdmm", ylim=(0, None))
    seconds.set(xlabel="labels", ylabel="CPU seconds")
    for axis in (seconds, ratios):
        axis.set_xticks(sorted(best), [str(count) for count in sorted(best)])
        axis.set_xticks([], minor=True)
    legend(figure)
    save(figure, given.target)


def main() -> None:
    """Records or draws."""
    parser, command = make_recorder(__doc__)
    command.add_argument("--labels", type=int, nargs="+", default=[57, 114, 228, 410])
    command.add_argument("--trainers", nargs="+", default=["gdmm", "bcfw"])
    command.add_argument("--examples", type=int, default=8000)
    command.add_argument("--features", type=int, default=47_236)
    command.add_argument("--example-cost", type=float, default=1.0)
    command.add_argument("--gap", type=float, default=GAPS[-1])
    command.add_argument("--time-limit", type=float, default=600.0, help="CPU seconds of a run")
    command.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    {"record": record, "draw": draw}[given.what](given)


if __name__ == "__main__":
    main()
