# SPDX-License-Identifier: BSD-3-Clause
"""The help of the options of a task: what stands in braces in their declarations is filled in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from svmcut.base.messages import join_names
from svmcut.base.typing import Any
from svmcut.cli.options import LEARNT, rows
from svmcut.spec.catalog import (
    AUTO,
    KERNELS,
    PARTED,
    QPS,
    RESCALINGS,
    SBP,
    SOLVERS,
    TASKS,
    losses,
    measures,
    solvers,
    takers,
)
from svmcut.spec.entries import (
    CDN,
    FLOOR,
    NEWTON,
    NUMBERS,
    ONE_CLASS,
    PLACES,
    RANGE,
    TAGS,
    Loss,
)
from svmcut.spec.options import Option
from svmcut.spec.parameters import (
    CERTIFIED_ROWS,
    DEFAULTS,
    EPSILON,
    KKT_TOLERANCE,
)
from svmcut.spec.places import PLACE_KINDS

#: What --at is, with the losses that take it.
AT_HELP = {
    PLACES: "Number of top places that {} counts",
    FLOOR: "least value of the second measure of {}",
    RANGE: "LOW,HIGH, the range of false-positive rates of {}",
}

#: What workers do, of rows that lie in parts or of sets of labels.
SPREAD = {
    True: "EXAMPLE_FILE may be a quoted pattern: every file is a part that a worker reads by the "
    "same name. Cutting planes or Newton's method; same bytes for any number of workers.",
    False: "Each trains blocks of labels or of the nodes of a tree, to the bytes of one machine.",
}


def describe_places(rows: Sequence[Loss]) -> str:
    """Say what --at is of these losses."""
    texts = [
        text.format(join_names([loss.name for loss in rows if loss.place == place]))
        for place, text in AT_HELP.items()
        if any(loss.place == place for loss in rows)
    ]
    text = "; ".join(texts)
    return text[:1].upper() + text[1:]


def describe_free_bias(task: str) -> str:
    """Say where a bias may be free."""
    taking = takers(task, "free_bias")
    kernel = [name for name in taking if SOLVERS[name].free_bias]
    own = SOLVERS[NEWTON].losses or ()
    sums = [loss.name for loss in losses(task).values() if loss.name in own]
    on_features = f"instead of the constant feature, for {join_names(sums)}"
    if not kernel:
        return on_features
    return f"with kernels for solvers {join_names(kernel)}; on features {on_features}"


def list_numbered(rows: Iterable[Any]) -> str:
    """Return names with the originals' numbers and what there is to say of each: f1 (1), error-rate
    (2)."""
    names = [row.name if row.number is None else f"{row.name} ({row.number})" for row in rows]
    told = any(row.help for row in rows)
    return (
        "; ".join(f"{name}, {row.help}" if row.help else name for name, row in zip(names, rows))
        if told
        else ", ".join(names)
    )


_INPUTS = (
    "svm, as above; csv, tsv, jsonl, parquet or arrow: a table, with --label; text: lines with a "
    "label, a tab and a text, or with __label__NAME and a text",
    "svm, as above; crfsuite: lines with a tag and named attributes, NAME or NAME:VALUE, separated "
    "by tabs (give it to classify too); conll: lines with columns separated by blanks, the last "
    "of them the tag. In both, an empty line ends a sequence",
)


#: The machine that nu stands for, by labels.
_NU = {
    ONE_CLASS: "At most this share of the examples is outside, and at least this share are support "
    "vectors: LIBSVM's -s 2.",
    NUMBERS: "nu-SVR, LIBSVM's -s 4: fit the width of the tube so that at most this share of the "
    "examples lies outside. Solver smo, any kernel.",
    "": "nu-SVC, LIBSVM's -s 1, instead of C: at most this share of the examples is on the wrong "
    "side of the margin. Solver smo, any kernel.",
}


_PROBABILITY = {
    TAGS: "Calibrate probabilities of tags on five-fold cross-validation; training takes longer. "
    "classify --confidence writes them. --quick does so by itself, on the sequences it holds out.",
    NUMBERS: "Estimate the noise around predictions, sigma of a Laplace distribution, on five-fold "
    "cross-validation; training takes longer. classify prints it.",
    "": "Calibrate class probabilities on five-fold cross-validation; training takes longer. "
    "classify --probability writes them. Models of -l logistic have probabilities without it.",
}


def _rules(row: Any) -> dict[str, str]:
    """Return the defaults of the rules that end training of a task."""
    epsilon = f"{row.defaults.get('epsilon', EPSILON):g}"
    if row.gap is None:
        return {"epsilon": epsilon, "gap": "none"}
    if row.original is None:
        return {"epsilon": "none", "gap": f"{row.gap:g}"}
    return {"epsilon": f"{epsilon} with -c, else none", "gap": f"{row.gap:g}, with -c none"}


def _words(task: str) -> dict[str, Any]:
    """Return the words that fill the help texts of a task."""
    row, of_tags = TASKS[task], TASKS[task].labels == TAGS
    return (
        _words_of_losses(task)
        | _words_of_solvers(task)
        | {
            "inputs": _INPUTS[of_tags],
            "probability": _PROBABILITY[row.labels if row.labels in _PROBABILITY else ""],
            "tasks": join_names([f"{name} ({TASKS[name].help})" for name in LEARNT], "or"),
            "first": DEFAULTS["task"],
            "loss": row.loss,
            "objective": row.objective,
            "spread": SPREAD[task in PARTED],
            "original": row.original or row.like,
            "one": f"{row.unit}'s {row.weighs}",
            "points": row.points,
            "single": row.unit,
            "bias": f"{row.defaults.get('bias', 1):g}"
            + (" without a kernel, 0 with one" if solvers(task, True) else ""),
            "biased": describe_free_bias(task),
            "free_bias": "on only if you write --solver smo or sbp"
            if row.original
            else "on with kernels",
            "kernels": ", ".join(
                f"{name} ({kernel.number}) {kernel.formula}".strip()
                for name, kernel in KERNELS.items()
                if not kernel.given
            ),
            "given": " ".join(
                f"Or {name} ({kernel.number}): {kernel.formula}."
                for name, kernel in KERNELS.items()
                if kernel.given
            )
            if any(solver.given for solver in solvers(task, True).values())
            else "",
            "examples": row.units.capitalize() if of_tags else "Examples",
            "certified": f"{CERTIFIED_ROWS:,} "
            + ("tokens with a kernel, else off" if of_tags else "rows"),
            **_rules(row),
            "measures": ", ".join(name.replace("_", "-") for name in measures(task)),
            "measure": row.measure.replace("_", "-"),
            "algorithms": join_names([str(number) for number in row.algorithms], "or"),
            "parts": "tags" if of_tags else "labels",
            "parts_default": "1 for every 100 tags" if of_tags else "1",
            "qps": "; ".join(f"{name}, {qp.help}" for name, qp in QPS.items()),
            "qp": next(iter(QPS)),
        }
    )


def _words_of_losses(task: str) -> dict[str, str]:
    """Return the words of `_words` that come from the losses of a task."""
    rows = list(losses(task).values())
    sums = [loss.name for loss in rows if loss.is_sum]
    only = "" if len(sums) == len(rows) else join_names(sums)
    row = TASKS[task]
    usual = f"{row.example_cost:g} without -c"
    if row.quick_cost != row.example_cost:
        usual += f" ({row.quick_cost:g} with --quick)"
    known = {name for loss in rows for name in loss.rescalings}
    rescalings = [f"{name} ({RESCALINGS[name]})" for name in RESCALINGS if name in known]
    penalised = [row.name for row in rows if row.name in (SOLVERS[CDN].losses or ())]
    sparse = [name for name in penalised if name not in SOLVERS[CDN].with_square]
    return {
        "losses": list_numbered(rows),
        "needed": f" Required for every loss except {only}." if only else "",
        "example_cost": usual + (f", for {only} only" if only else ""),
        "weighing": join_names(sums),
        "at": join_names([loss.name for loss in rows if loss.at]),
        "placed": describe_places(rows),
        "place": "; ".join(
            PLACE_KINDS[place][2] for place in AT_HELP if any(loss.place == place for loss in rows)
        ),
        "mixed": join_names([loss.name for loss in rows if "beta" in loss.takes]),
        "penalised": join_names(penalised),
        "sparse": join_names(sparse),
        "at_default": join_names([f"{loss.at[2]:g}" for loss in rows if loss.at]),
        "rescalings": join_names(rescalings, "or"),
    }


def _words_of_solvers(task: str) -> dict[str, str]:
    """Return the words of `_words` that come from the solvers of a task."""
    known = solvers(task)
    tolerant = [name for name, solver in known.items() if solver.by_conditions]
    bare = [name for name, solver in known.items() if solver.polished is False]
    passes = {
        name: solver.defaults["epochs"]
        for name, solver in known.items()
        if "epochs" in solver.defaults
    }
    usual = max(passes.values(), default=0)
    others = [f"{name} {n:g}" for name, n in passes.items() if n != usual]
    by_data = [
        join_names((AUTO, *names), "or")
        for names in (solvers(task, False), solvers(task, True))
        if names
    ]
    ways = {
        way: [name for name, kernel in KERNELS.items() if kernel.maintenance[0] == way]
        for kernel in KERNELS.values()
        for way in kernel.maintenance
    }
    taking = takers(task, "nu")
    kkt = f"{join_names(tolerant)}: tolerance of the KKT conditions, {KKT_TOLERANCE:g}."
    return {
        "solvers": "; with kernels ".join(by_data),
        "kkt": kkt if tolerant else "",
        "polish": f"on, for {join_names(bare)} off" if bare else "on",
        "nu": _NU[TASKS[task].labels if TASKS[task].labels in _NU else ""],
        "nu_of_sbp": f"With --solver {SBP}: the mean slack of the examples at |w| = 1; C then only "
        "scales the reported objective."
        if SBP in taking
        else "",
        "nu_default": "0.5" if TASKS[task].labels == ONE_CLASS else "from C",
        "epochs": ", ".join((f"{usual:g}", *others)),
        "adaptive": join_names([name for name, solver in known.items() if solver.adaptive]),
        "maintenance": ", ".join(
            f"{way} for {join_names(names)}" for way, names in ways.items() if names
        ),
    }


@cache
def options(task: str) -> tuple[Option, ...]:
    """Return the options of a task with their help texts filled in."""
    words = _words(task)

    def filled(row: Option) -> Option:
        taking = takers(task, row.field)
        spanned = [name for name in taking if row.field not in SOLVERS[name].after]
        kernels = [name for name, kernel in KERNELS.items() if row.field in kernel.takes]
        names = {"takers": taking, "spanned": spanned}
        polished = join_names([name for name in taking if name not in spanned])
        texts = words | {key: join_names(taken) for key, taken in names.items()}
        texts["kernels_of"] = f"{join_names(kernels)} kernel{'s' * (len(kernels) > 1)}"
        texts["polished"] = f", and by the polish of {polished}" if polished else ""
        texts_of = (row.help, row.more, row.default or "")
        help, more, default = (text.format(**texts) for text in texts_of)
        more = f"{more} {TASKS[task].notes.get(row.field, '')}".strip()
        return row._replace(help=help, more=more, default=default)

    return tuple(map(filled, rows(task)))
