# SPDX-License-Identifier: BSD-3-Clause
"""The curves of docs/benchmarks-kernels.md: growth of sampled cuts, error over kernel values,
training on a budget.

    python benchmarks/kernel_plots.py evaluations evaluations.csv adult --data FOLDER --epochs 4
    python benchmarks/kernel_plots.py budget budget.csv NAME=TRAIN,TEST:COST:GAMMA ... -B 100 500
    --peers python benchmarks/kernel_plots.py draw docs/plots/kernel-rows.svg growth.csv

The first two train on one thread and add lines to a CSV file; "draw" makes a figure of one, or of
what kdd2008.py recorded, and runs nothing. "evaluations" is Figure 2 of Cotter, Shalev-Shwartz and
Srebro, ICML 2012 (benchmarks/perceptron.py has the parameters). "budget" counts CPU seconds of the
steps, and of the whole training where it is polished: Figures 2, 5 and 6 of Qaadan, Schueler and
Glasmachers, 2018. svm-train runs with --peers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from arguments import make_parser
from kernel_curves import Epoch, EpochState, Evaluation, Growth, budgeted, evaluated, read, write

ORDER = ("seconds", "iterations", "train_error", "error")  # of the panels of growth, from above
TITLES = {
    "seconds": "CPU seconds",
    "iterations": "iterations",
    "train_error": "training error, %",
    "error": "test error, %",
}


def names(rows, field: str = "panel") -> list:
    """The values of a field, once each, in the order of the rows."""
    return list(dict.fromkeys(getattr(row, field) for row in rows))


def spread(values, form: str) -> str:
    """Mean ± standard deviation; the value where there is one."""
    return f"{np.mean(values):{form}}" + (
        f" ± {np.std(values, ddof=1):{form}}" if len(values) > 1 else ""
    )


def draw_growth(rows: list[Growth]):
    """A column a panel, below each other seconds, iterations and both errors, means with bars from
    least to most.

    Prints the numbers and the exponents of the means.
    """
    from plots import exponent
    from style import legend, look, panels

    columns = names(rows)
    figure, axes = panels(len(ORDER), len(columns), sharex="col", sharey="row")
    print("| panel | curve | x | seeds | CPU s | rounds | points | train error % | test error % |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    slopes = []
    for column, panel in zip(axes.T, columns, strict=True):
        for name in names([row for row in rows if row.panel == panel], "curve"):
            found: dict[float, list[Growth]] = {}
            for row in sorted(
                (row for row in rows if (row.panel, row.curve) == (panel, name)),
                key=lambda row: row.x,
            ):
                found.setdefault(row.x, []).append(row)
            means = {}
            for x, runs in found.items():
                cells = [
                    spread([getattr(row, field) for row in runs], form)
                    for field, form in zip(
                        ("seconds", "iterations", "points", "train_error", "error"),
                        (".1f", ".0f", ".0f", ".2f", ".2f"),
                        strict=True,
                    )
                ]
                print(f"| {panel} | {name} | {x:,.0f} | {len(runs)} | {' | '.join(cells)} |")
            for axis, field in zip(column, ORDER, strict=True):
                values = [[getattr(row, field) for row in runs] for runs in found.values()]
                means[field] = np.array([np.mean(own) for own in values])
                bars = (
                    means[field] - [min(own) for own in values],
                    [max(own) for own in values] - means[field],
                )
                axis.errorbar(list(found), means[field], bars, elinewidth=0.8, **look(name))
                axis.set_xscale("log")
                axis.set_yscale("linear" if field.endswith("error") else "log")
            grown = (f"{exponent(list(found), means[field]):.2f}" for field in ORDER[:2])
            slopes.append(
                f"{panel}, {name}: CPU seconds and rounds grow by exponents {', '.join(grown)}"
            )
        column[0].set_title(panel)
        ticks = sorted({row.x for row in rows if row.panel == panel})
        column[-1].set_xticks(ticks, [f"{x:g}" for x in ticks])
        column[-1].minorticks_off()
        column[-1].set_xlabel(
            "examples in a sample" if panel.endswith("-cuts") else "training rows"
        )
    for axis, field in zip(axes[:, 0], ORDER, strict=True):
        axis.set_ylabel(TITLES[field])
    print("\n".join(slopes))
    legend(figure)
    return figure


def draw_evaluations(rows: list[Evaluation]):
    """A panel a set; prints the table."""
    from style import legend, look, two_wide

    sets = names(rows)
    figure, axes = two_wide(len(sets))
    marks = sorted(set(names(rows, "x")))
    print("| set | kernel values / n^2 | " + " | ".join(f"{x:g}" for x in marks) + " |")
    print("|---|---|" + "---:|" * len(marks))
    for axis, panel in zip(axes, sets, strict=True):
        for name in names([row for row in rows if row.panel == panel], "curve"):
            line = [row for row in rows if (row.panel, row.curve) == (panel, name)]
            cells = dict.fromkeys(marks, "-")
            for row in line:
                known = row.deviation == row.deviation
                cells[row.x] = f"{row.error:.2f}" + (f" ± {row.deviation:.2f}" if known else "")
            print(f"| {panel} | {name} | {' | '.join(cells.values())} |")
            x, error, deviation = (
                np.array([getattr(row, field) for row in line]) for field in Evaluation._fields[2:]
            )
            axis.semilogx(x, error, **look(name))
            axis.fill_between(
                x, error - deviation, error + deviation, color=look(name)["color"], alpha=0.15, lw=0
            )
        # smo is far above all others until it is nearly done
        axis.set_ylim(
            top=1.05 * max(row.error for row in rows if row.panel == panel and row.curve != "smo")
        )
        axis.set(title=panel, xlabel="kernel values / n^2", ylabel="test error, %")
    legend(figure)
    return figure


def draw_budget(rows: list[Epoch]):
    """A row a set: error over CPU seconds for the middle budget, and over budgets in the end;
    prints the ends."""
    from style import legend, look, panels

    sets = names(rows)
    figure, axes = panels(len(sets), 2)
    print("| set | trainer | B | CPU s | test error % |\n|---|---|---:|---:|---:|")
    for (time_axis, size_axis), panel in zip(axes, sets, strict=True):
        own = [row for row in rows if row.panel == panel]
        sizes = sorted({row.budget for row in own if row.budget == row.budget})
        chosen = sizes[len(sizes) // 2]
        for name in names(own, "curve"):
            line = [row for row in own if row.curve == name]
            at = [row for row in line if row.budget == chosen] or [
                row for row in line if row.budget != row.budget
            ]
            ends = {row.budget: row for row in line}  # the last row of every budget
            for size, row in ends.items():
                shown = "-" if size != size else f"{size:g}"
                print(f"| {panel} | {name} | {shown} | {row.seconds:.2f} | {row.error:.2f} |")
            polished = (
                {"marker": "*", "markersize": 8, "linestyle": ":"}
                if name.endswith("polished")
                else {}
            )
            time_axis.semilogx(
                [row.seconds for row in at], [row.error for row in at], **look(name, **polished)
            )
            if name.partition(",")[0] in ("bsca", "bsgd"):
                size_axis.semilogx(
                    list(ends), [row.error for row in ends.values()], **look(name, **polished)
                )
            else:
                size_axis.axhline(line[0].error, **look(name, marker="", linestyle="--"))
        time_axis.set(
            title=f"{panel}, B = {chosen:g}",
            xlabel="CPU seconds of training",
            ylabel="test error, %",
        )
        size_axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        size_axis.minorticks_off()
        size_axis.set(title=f"{panel}, in the end", xlabel="budget B, support vectors")
    legend(figure)
    return figure


def draw_states(rows: list[EpochState]):
    """A row a set: objectives, accuracy and merging steps by epoch; the smaller the budget, the
    shorter the dashes."""
    from style import legend_by_epoch, look, named, panels

    sets, dashes = names(rows), ("-", "--", ":")
    figure, axes = panels(len(sets), 3)
    print(
        "| set | trainer | B | primal | dual | accuracy % | merging % "
        "|\n|---|---|---:|---:|---:|---:|---:|"
    )
    for (objective, accuracy, merging), panel in zip(axes, sets, strict=True):
        budgets = sorted({row.budget for row in rows if row.panel == panel}, reverse=True)
        for solver, budget in dict.fromkeys(
            (row.curve, row.budget) for row in rows if row.panel == panel
        ):
            line = [
                row for row in rows if (row.panel, row.curve, row.budget) == (panel, solver, budget)
            ]
            last, epochs = line[-1], [row.epoch for row in line]
            print(
                f"| {panel} | {solver} | {budget:g} | {last.primal:.5g} | {last.dual:.5g} | "
                f"{last.accuracy:.2f} | "
                f"{last.merging:.1f} |"
            )
            style = look(
                f"{solver}, B = {budget:g}",
                linestyle=dashes[budgets.index(budget) % 3],
                markersize=2.5,
            )
            objective.semilogy(epochs, [row.primal for row in line], **style)
            if solver == "bsca":
                objective.semilogy(
                    epochs, [row.dual for row in line], **style | {"label": "", "marker": ""}
                )
            accuracy.plot(epochs, [row.accuracy for row in line], **style)
            merging.plot(epochs, [row.merging for row in line], **style)
        named(
            (objective, accuracy, merging),
            panel,
            "primal; dual plain",
            "test accuracy, %",
            "merging steps, %",
        )
    legend_by_epoch(figure, axes)
    return figure


def draw(target: Path, path: Path) -> None:
    """The figure of a file, by what its rows are; its numbers go to standard output."""
    from style import save

    rows = read(path)
    drawers = {
        Growth: draw_growth,
        Evaluation: draw_evaluations,
        Epoch: draw_budget,
        EpochState: draw_states,
    }
    save(drawers[type(rows[0])](rows), target)


def parse() -> argparse.Namespace:
    """What the command line says."""
    from perceptron import SETS

    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True)

    def recorder(name):
        command = commands.add_parser(name)
        command.add_argument("target", type=Path, metavar="CSV", help="lines are added to it")
        return command

    command = recorder("evaluations")
    command.add_argument(
        "sets", nargs="+", choices=sorted(name for name in SETS if SETS[name].plain)
    )
    command.add_argument("--data", type=Path, required=True, help="folder of the sets")
    command.add_argument(
        "--epochs",
        type=float,
        default=4.0,
        help="of sbp; passes of n^2 kernel values for the others",
    )
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--rows", type=int, help="so many of the training rows")
    command = recorder("budget")
    command.add_argument("sets", nargs="+", metavar="NAME=TRAIN,TEST:COST:GAMMA")
    command.add_argument("-B", "--budgets", type=int, nargs="+", default=[100, 200, 500, 1000])
    command.add_argument("--epochs", type=int, default=10)
    command.add_argument("--peers", action="store_true", help="run svm-train where it is installed")
    command = commands.add_parser("draw")
    command.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    command.add_argument("file", type=Path, metavar="CSV")
    commands.choices["budget"].add_argument("--seed", type=int, default=0)
    for name in ("evaluations", "budget"):
        commands.choices[name].add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Records or draws."""
    given = parse()
    if given.what == "draw":
        draw(given.target, given.file)
        return
    recorders = {"evaluations": evaluated, "budget": budgeted}
    write(given.target, recorders[given.what](given))


if __name__ == "__main__":
    main()
