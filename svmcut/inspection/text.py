# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a model and of its scores as plain values, and the text of inspect for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from svmcut.base.messages import escape, join_names
from svmcut.base.typing import Any
from svmcut.data.examples import Names
from svmcut.models import Model
from svmcut.models.base import Ends
from svmcut.spec.catalog import FORMATS, measures


def text_of(document: dict[str, Any]) -> str:
    """The whole text of a document of inspect."""
    blocks = [[f"{key:<18}{value}" for key, value in summary(document)]]
    if "template" in document:
        blocks.append(["Template", *(f"  {line}" for line in document["template"])])
    for row in document.get("weights", ()):
        blocks.append([weights_title(row, document), *_ends(row, feature_name)])
    for row in document.get("transitions", ()):
        title = f"Transitions of order {row['order']}: {row['weighted']} with a weight"
        blocks.append([title, *_ends(row, transition_name)])
    if "machines" in document:
        table = [["Machine", "support vectors", "threshold"]]
        for row in document["machines"]:
            table.append([machine_name(row), str(row["support_vectors"]), number(row["threshold"])])
        blocks.append(_table(table))
    if "pairs" in document:
        pairs = document["pairs"]
        title = (
            f"Pairs of labels: {pairs['number']} with a weight, {pairs['positive']} of them "
            "positive"
        )
        blocks.append([title, *_ends(pairs, pair_name)])
    if "choice" in document:
        rows = choice(document["choice"])
        blocks.append(["Choice of C", *(f"  {name:<16}{value}" for name, value in rows)])
    for key, of in (("certificate", certificate), ("trace", convergence)):
        if key in document:
            blocks.append(
                [
                    f"{key.title()}: {document[key]['file']}",
                    *(f"  {k:<16}{v}" for k, v in of(document[key])),
                ]
            )
    if "data" in document:
        data = document["data"]
        lines = [f"  {name:<18}{value:>9}" for name, value in measure_rows(data)]
        blocks.append([f"Measures on {data['examples']} examples of {data['file']}", *lines])
        if "scores" in data:
            blocks.append(["Scores", *_table(scores_table(data["scores"]))])
    return "\n\n".join("\n".join(map(escape, block)) for block in blocks) + "\n"


def number(value: float | None) -> str:
    """A number in six digits; what there is not is `none`."""
    return "none" if value is None else f"{value:.6g}"


def summary(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the facts of a model."""
    features = document["features"]
    rows = [("Model", document["model"]), ("Kind", f"{document['kind']} ({document['format']})")]
    usual = (
        " (error-rate, if svmcut learn wrote it)"
        if document["format"] == FORMATS[0].first.decode()
        else ""
    )
    rows.append(("Loss", document["loss"] or f"not in the file{usual}"))
    if "labels" in document:
        rows.append(("Labels", _shorten(document["labels"])))
    if "kernel" in document:
        name, *values = document["kernel"].items()
        rows.append(
            ("Kernel", ", ".join([name[1], *(f"{key} {value:g}" for key, value in values)]))
        )
    many = (
        f"{features['weighted']} of {features['highest']} are used, sparsity "
        f"{features['sparsity']:.2f} %"
    )
    rows.append(("Features", many))
    if len(document.get("weights", ())) == 1:
        rows.append(("Norm of weights", number(document["weights"][0]["norm"])))
    if "threshold" in document:
        rows.append(("Threshold", f"{number(document['threshold'])}, subtracted from scores"))
    if "ball" in document:
        ball = document["ball"]
        told = (
            f"gap {number(ball['gap'])}; the optimum's weights are within {number(ball['radius'])}"
        )
        rows.append(("Certificate", told))
    if "chosen_threshold" in document:
        more = f"{number(document['chosen_threshold'])}, subtracted too"
        rows.append(("Chosen threshold", more))
    if "promise" in document:
        rows.append(("Promised coverage", _promise_text(document["promise"])))
    if "probabilities" in document:
        ((name, value),) = document["probabilities"].items()
        if name == "temperature":
            rows.append(("Probabilities", f"softmax of {number(value)} times the scores"))
        elif name == "sigmoids":
            rows.append(("Probabilities", "a sigmoid for every pair of classes, coupled"))
        else:
            rest = ", divided by their sum" if document["kind"] == "classes" else ""
            A, B = number(value[0]), f"{value[1]:+.6g}"
            rows.append(("Probabilities", f"1 / (1 + exp({A} score {B[0]} {B[1:]})){rest}"))
    if "frequencies" in document:
        rows.append(("Frequencies", f"{document['frequencies']}, of seed {document['seed']}"))
    if "support_vectors" in document:
        support = document["support_vectors"]
        rows.append(("Support vectors", f"{support['number']}, {support['nonzeros']} values"))
        signs = f"{support['positive']} above 0, {support['negative']} below"
        sizes = (
            f"sizes {number(support['least'])} to {number(support['most'])}, {support['at_most']} "
            "of the largest"
        )
        rows.append(("Multipliers", f"{signs}; {sizes}"))
    return rows


def _promise_text(promise: dict[str, Any]) -> str:
    each = " of each class" if "classes" in promise else ""
    return f"{100 * promise['coverage']:g} % of new rows{each}, by svmcut conformal"


def _shorten(names: Sequence[str], most: int = 20) -> str:
    return (
        ", ".join(names) if len(names) <= most else f"{len(names)}: {', '.join(names[:most])}, ..."
    )


def weights_title(row: dict[str, Any], document: dict[str, Any]) -> str:
    """The title of a list of weights."""
    kind, labels = document["kind"], document.get("labels")
    size = f"{row['weighted']} features, norm {number(row['norm'])}"
    if labels is None:
        return f"Weights: {size}"
    if kind == "linear":
        return f"Weights for {labels[1]} (above 0) and for {labels[0]} (below): {size}"
    what = {"chain": "tag", "classes": "class"}.get(kind, "label")
    behind = f" behind tag {row['behind']}" if "behind" in row else ""
    constant = f", constant {number(row['constant'])}" if "constant" in row else ""
    return f"Weights of {what} {row['of']}{behind}: {size}{constant}"


def feature_name(row: dict[str, Any]) -> str:
    """The number of a feature, and its name."""
    return f"{row['feature']} {row['name']}" if "name" in row else str(row["feature"])


def transition_name(row: dict[str, Any]) -> str:
    """Tags in the order of the tokens."""
    return " > ".join(row["tags"])


def machine_name(row: dict[str, Any]) -> str:
    """The classes a machine parts."""
    return " against ".join(row["of"] if len(row["of"]) == 2 else [*row["of"], "the rest"])


def pair_name(row: dict[str, Any]) -> str:
    """Two labels."""
    return join_names(row["labels"])


def _ends(row: dict[str, Any], name: Callable[[dict[str, Any]], str]) -> list[str]:
    """The highest weights beside the lowest."""
    columns = (
        [(f"{entry['weight']:.4g}", name(entry)) for entry in row[end]]
        for end in ("highest", "lowest")
    )
    rows = [(*high, *low) for high, low in zip_longest(*columns, fillvalue=("", ""))]
    if not rows:
        return []
    a, b, c, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [f"  {r[0]:>{a}}  {r[1]:<{b}}  {r[2]:>{c}}  {r[3]}".rstrip() for r in rows]


def certificate(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the facts that a report has of a training run."""
    cost = "cost" if "cost" in run else "example_cost"
    ended = (
        "converged"
        if run["converged"]
        else f"not converged ({run['stopped_by'] or 'see the report'})"
    )
    rows = [("Solver", f"{run['solver']}, {run['iterations']} iterations; {ended}")]
    rows.append(
        (
            "C",
            f"{number(run[cost])} ({'-c' if cost == 'cost' else '--example-cost'}), loss "
            f"{run['loss']}",
        )
    )
    rows += [(name, number(run[name.lower()])) for name in ("Primal", "Dual", "Gap")]
    if run["relative_gap"] is not None:
        rows.append(("Relative gap", number(run["relative_gap"])))
    return rows


def choice(proven: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the proof of a choice of C."""
    trained, least = proven["trained"], proven["errors"] - proven["within"]
    rows = [
        ("C", number(proven["C"])),
        ("Errors", f"{100 * proven['errors']:.2f} % of the rows held out"),
        ("Trainings", f"{proven['trainings']}, at {len(trained)} values of C"),
    ]
    if not trained:
        return rows
    ends = f"{number(trained[0]['C'])} to {number(trained[-1]['C'])}"
    return [*rows, ("Proven", f"no C from {ends} has fewer than {100 * least:.2f} % errors")]


def convergence(trace: dict[str, Any]) -> list[tuple[str, str]]:
    """The ends of a trace, name and value."""
    first, last = trace["points"][0], trace["points"][-1]
    rows = [("Iterations", f"{last['iteration']} in {last['seconds']:.3g} s")]
    return rows + [
        (name, f"{number(first[key])} to {number(last[key])}")
        for name, key in (("Primal", "primal"), ("Dual", "dual"), ("Gap", "gap"))
    ]


def measure_rows(data: dict[str, Any], words: bool = False) -> Iterable[tuple[str, str]]:
    """The measures of a file, name and value; in words for people rather than as keys."""
    for row in measures(data["task"]).values():
        if row.name not in data["measures"]:
            continue
        value = data["measures"][row.name]
        shown = value if isinstance(value, int) else f"{value:.{row.digits}f}"
        aimed = (row.aimed or "").replace(" {}", "")
        name = (row.plain or aimed or row.heading or _words(row.name)) if words else row.name
        yield name, "undefined" if math.isnan(value) else str(shown)
    for name in ("log_loss", "brier"):
        if name in data:
            yield _words(name) if words else name, f"{data[name]:.4f}"


def _words(key: str) -> str:
    return key.replace("_", " ").capitalize()


def confusion_table(data: dict[str, Any]) -> list[list[str]]:
    """Head and rows: of every true label how many rows are predicted as what."""
    names = [f"{name:g}" if isinstance(name, float) else name for name in data["labels"]]
    rows = zip(names, data["confusion"], strict=False)
    return [["true \\ predicted", *names], *([name, *map(str, row)] for name, row in rows)]


def scores_table(scores: dict[str, Any]) -> list[list[str]]:
    """The distribution of scores, one line for each group below the heads."""
    table = [["of", "examples", "mean", "deviation", "least", "25 %", "median", "75 %", "most"]]
    for row in scores["groups"]:
        cells = [row["of"], str(row["examples"])]
        if "mean" in row:
            values = (row["mean"], row["deviation"], row["least"], *row["quartiles"], row["most"])
            cells += [f"{value:.4g}" for value in values]
        table.append(cells + [""] * (9 - len(cells)))
    return table


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:>{k}}" for cell, k in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line}".rstrip() for line in lines]


def facts(model: Model, top: int = 10, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Facts and weights of a model as plain values: numbers, texts, lists and mappings;
    docs/inspect.md lists the keys.

    top: how many weights are named at either end. names: of the features, from the first on.
    """
    known = getattr(model, "names", None)
    if names is None and isinstance(known, Names) and not known.hash_bits:
        names = known.attributes
    template = known.template if isinstance(known, Names) else ()
    return model.facts(Ends(top, names)) | ({"template": [*template]} if template else {})


def distribution(
    scores: NDArray, groups: dict[str, NDArray[np.bool_]], bins: int = 40
) -> dict[str, Any]:
    """Histograms of scores in groups of rows, over bins they share; scores that are not finite are
    left out."""
    finite = np.isfinite(scores)
    low, high = (
        float(part)
        for part in (scores[finite].min(initial=np.inf), scores[finite].max(initial=-np.inf))
    )
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low - 0.5, low + 0.5])
    counted = []
    for name, rows in groups.items():
        own = scores[rows & finite]
        row: dict[str, Any] = {"of": name, "examples": int(rows.sum())}
        if len(own):
            least, *quartiles, most = np.quantile(own, (0, 0.25, 0.5, 0.75, 1)).tolist()
            row |= {
                "mean": float(own.mean()),
                "deviation": float(own.std()),
                "least": least,
                "quartiles": quartiles,
            }
            row |= {"most": most, "counts": np.histogram(own, edges)[0].tolist()}
        counted.append(row)
    return {"edges": edges.tolist() if finite.any() else [], "groups": counted}


def curves(
    positive: NDArray[np.bool_], scores: NDArray, most: int = 200
) -> dict[str, list[list[float]]]:
    """Points of the ROC curve and of precision over recall, in percent, at most so many of each;
    ties as in svmcut.scoring.measures.

    ``roc`` has false and true positives, ``precision_recall`` recall and precision at the ranks of
    the positives; a curve is empty where a class that it needs is missing.
    """
    ranked = positive[np.lexsort((positive, -np.asarray(scores, np.float64)))]
    positives, n_positive, n = np.cumsum(ranked), int(positive.sum()), len(ranked)
    roc = precision_recall = np.zeros((0, 2))
    if n_positive:
        ranks = np.flatnonzero(ranked)
        k = np.arange(1, n_positive + 1)
        precision_recall = np.column_stack([k / n_positive, k / (ranks + 1)])
    if 0 < n_positive < n:
        steps = np.concatenate([[0], positives])
        points = np.column_stack(
            [(np.arange(n + 1) - steps) / (n - n_positive), steps / n_positive]
        )
        corner = np.concatenate([[True], ranked[1:] != ranked[:-1], [True]])
        roc = points[corner]
    return {"roc": _thin(100 * roc, most), "precision_recall": _thin(100 * precision_recall, most)}


def _thin(points: NDArray, most: int) -> list[list[float]]:
    """Both ends and points evenly between them."""
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).round().astype(np.int64)]
    return points.tolist()
