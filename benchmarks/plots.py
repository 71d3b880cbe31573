# SPDX-License-Identifier: BSD-3-Clause
"""The curves of docs/benchmarks.md: time to a gap beside LIBLINEAR, and growth of training with n, C and epsilon.

    python benchmarks/plots.py gap docs/plots/gap.svg -C 1 FILE ...
    python benchmarks/plots.py growth docs/plots/growth.svg FILE ...

"gap" runs whole processes, from file to model: svmcut stops at the relative gaps 1e-2, 1e-3 and 1e-4, LIBLINEAR at its
-e 1 to 0.001; every point shows CPU seconds and how far the objective of the model is from the best of the set.

"growth" trains in this process and shows what Figures 1, 5 and 8 of Joachims, Training linear SVMs in linear time (KDD
2006), show: CPU seconds and iterations over the number of rows, iterations over C and over epsilon, each with the
exponent fitted to it. C and epsilon are the paper's: its loss is a fraction where svm_perf counts percent.

Both print their numbers as a table. matplotlib is needed (extra `plot`), and liblinear-train for its curve.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from argparse import Namespace
from pathlib import Path

import numpy as np

from svmcut.data import Examples
from svmcut.files.examples import read_examples
from svmcut.parameters import Settings
from svmcut.training.driver import make_driver

GAPS = ("1e-2", "1e-3", "1e-4")
LIBLINEAR_EPSILONS = ("1", "0.1", "0.01", "0.001")
COST, EPSILON = 20_000.0, 0.001  # of the paper, where they are not varied
COSTS = tuple(10.0**k for k in np.arange(2, 6.1, 0.5))
EPSILONS = tuple(10.0**k for k in np.arange(-4, -0.9, 0.5))
PERCENT = 100.0


def train(examples: Examples, cost: float, epsilon: float, solver: str) -> tuple[float, int]:
    """CPU seconds and iterations at the paper's C and epsilon."""
    began = time.process_time()
    settings = Settings(cost=cost / PERCENT, epsilon=epsilon * PERCENT, solver=solver, threads=1)
    outcome = make_driver(settings, examples).fit(settings.cost, None)
    return time.process_time() - began, outcome.progress.iteration


def sizes(n: int) -> list[int]:
    """Up to six sizes, each a third of the next, from 100 on."""
    return [n // 3**k for k in range(5, 0, -1) if n // 3**k >= 100] + [n]


def part(examples: Examples, n: int) -> Examples:
    """n rows drawn at random, the same for every solver."""
    rows = np.sort(np.random.default_rng(0).permutation(len(examples))[:n])
    return Examples(examples.X.take(rows), examples.y[rows], None, None, examples.source)


def exponent(x, y) -> float:
    """Slope of the least-squares line in the logarithms; nan for one point."""
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])


def growth(files: list[Path], solver: str) -> list[tuple[str, str, list[float], list[float]]]:
    """(panel, set, x, y) of every curve."""
    curves = []
    for path in files:
        examples = read_examples(str(path))
        name = path.name.split(".")[0]
        counts = sizes(len(examples))
        runs = [train(part(examples, n), COST, EPSILON, solver) for n in counts]
        curves.append(("CPU s of n", name, counts, [seconds for seconds, _ in runs]))
        curves.append(("iterations of n", name, counts, [iterations for _, iterations in runs]))
        runs = [train(examples, cost, EPSILON, solver) for cost in COSTS]
        curves.append(("iterations of C", name, list(COSTS), [iterations for _, iterations in runs]))
        runs = [train(examples, COST, epsilon, solver) for epsilon in EPSILONS]
        curves.append(("iterations of epsilon", name, list(EPSILONS), [iterations for _, iterations in runs]))
    return curves


def draw_growth(curves, target: Path) -> None:
    """One panel a quantity, one line a set; the table goes to standard output."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(curve[0] for curve in curves))
    figure = Figure(figsize=(11, 3), layout="constrained")
    axes = dict(zip(panels, figure.subplots(1, len(panels)), strict=True))
    print("| curve | set | x | y | exponent |\n|---|---|---|---|---:|")
    for panel, name, x, y in curves:
        slope = exponent(x, y)
        axes[panel].loglog(x, y, marker=".", label=f"{name}: {slope:.2f}")
        print(f"| {panel} | {name} | {_cells(x)} | {_cells(y)} | {slope:.2f} |", flush=True)
    for panel, axis in axes.items():
        axis.set_xlabel(panel.split(" of ")[1])
        axis.set_title(panel.split(" of ")[0], fontsize=9)
        axis.legend(fontsize=6)
    save(figure, target)


def _cells(values) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def gaps(files: list[Path], C: str, rounds: int) -> dict[str, list]:
    """linear.Row of every program and setting, by set."""
    from linear import contenders, measure, plain

    arguments = Namespace(
        solver=["auto", "cutting-plane"], gap=list(GAPS), threads=[1], liblinear_epsilon=list(LIBLINEAR_EPSILONS),
        no_sklearn=True, rounds=rounds, timeout=600,
    )  # fmt: skip
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            train_file = plain(path, Path(folder))
            rows = measure(path.name, train_file, C, list(contenders(arguments)), arguments, Path(folder))
            found[path.name.split(".")[0]] = rows
    return found


def draw_gaps(found: dict[str, list], target: Path) -> None:
    """One panel a set: relative distance to the best objective over CPU seconds; the table goes to standard output."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(found), 3), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    print("| set | program | CPU s | off best | gap |\n|---|---|---:|---:|---:|")
    for axis, (name, rows) in zip(panels, found.items(), strict=True):
        lines: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            gap = "" if row.gap is None else f"{row.gap:.1e}"
            print(f"| {name} | {row.program} | {row.cpu:.3f} | {row.off_best:.1e} | {gap} |")
            lines.setdefault(" ".join(row.program.split()[:2]), []).append((row.cpu, max(row.off_best, 1e-7)))
        for label, points in lines.items():
            marker = "x" if label.startswith("LIBLINEAR") else "o"
            axis.loglog(*zip(*points), marker=marker, label=label.replace(" -s", ""))
        axis.set(title=name, xlabel="CPU s, file to model", ylabel="relative distance to the best objective")
        axis.title.set_fontsize(9)
        axis.legend(fontsize=6)
    save(figure, target)


def save(figure, target: Path) -> None:
    """Writes SVG, PNG or PDF by the name; the same figure gives the same bytes."""
    import matplotlib

    for axis in figure.axes:
        axis.tick_params(which="major", labelsize=7)
        axis.tick_params(which="minor", labelsize=5)
    matplotlib.rcParams["svg.hashsalt"] = "svmcut"
    matplotlib.rcParams["svg.fonttype"] = "none"
    metadata = {"Date": None} if target.suffix == ".svg" else None
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata=metadata)
    if target.suffix == ".png":
        from PIL import Image

        # 64 colours make a quarter of the bytes and the same picture
        Image.open(target).convert("RGB").quantize(64).save(target, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("gap", "growth"))
    parser.add_argument("target", type=Path, help="the figure; its ending says the format")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-C", default="1", help="gap: weight of one example")
    parser.add_argument("--rounds", type=int, default=1, help="gap: besides the warm-up")
    parser.add_argument("--solver", default="cutting-plane", help="growth: which one")
    options = parser.parse_args()
    if options.what == "gap":
        draw_gaps(gaps(options.files, options.C, options.rounds), options.target)
    else:
        draw_growth(growth(options.files, options.solver), options.target)


if __name__ == "__main__":
    main()
