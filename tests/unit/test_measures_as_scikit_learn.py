# SPDX-License-Identifier: BSD-3-Clause
"""Every measure that scikit-learn has too is the same number there: on labels that the model does
not know, without rows of a class, and on equal scores."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from reference import chunks as chunk_truth
from sklearn import metrics

from svmcut.data.examples import Csr, Examples, MultilabelExamples, Source
from svmcut.scoring.chunks import ChunkCounts, split_tags
from svmcut.scoring.measures import (
    one_class_measures,
    ranking_measures,
    regression_measures,
    sequence_measures,
)
from svmcut.scoring.probabilities import ProbabilityLosses
from svmcut.scoring.tops import select_top_scores
from svmcut.spec.catalog import TASKS, measures
from svmcut.tasks.classification import Classification
from svmcut.tasks.label_sets import Predicted, SetTally
from svmcut.tasks.multiclass import Confusion, Multiclass
from svmcut.tasks.vectors import Scores

DRAWS = range(5)
#: Measures that scikit-learn lacks, or has at other points.
OWN = {
    *("prbep", "gmean", "q", "qacc", "qf1", "qgm", "partial_auc"),
    *("kld", "nkld", "prevalence_ae", "prevalence_rae"),
    *("swapped_pairs", "swapped_percent", "map", "sequence_error"),
    *("chunk_precision", "chunk_recall", "chunk_f1"),  # conlleval's, which is a truth of its own
    *("outside", "discordance", "concordance"),
    *("precision@1", "precision@3", "precision@5", "psp@1", "psp@3", "psp@5"),
}
SEEN = set()


def compare(found, expected):
    """Both by name; what is None is nan."""
    for name, value in expected.items():
        SEEN.add(name)
        if value is None:
            assert np.isnan(found[name]), name
        else:
            assert found[name] == pytest.approx(value, abs=1e-9), name


def drawn_rows(y):
    """Rows without features."""
    nothing = np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(len(y) + 1, np.int64)
    return Examples(Csr(*nothing, 1), y, None, None, Source("drawn"))


def untied(relevance, scores):
    """Scores without ties, in which the less relevant of equal ones comes first."""
    ranks = np.empty(len(scores))
    ranks[np.lexsort((-np.asarray(relevance, float), scores))] = np.arange(len(scores))
    return ranks


def percent(value):
    return None if value is None else 100 * value


def of_two_classes(y, scores, positive):
    """What scikit-learn says of rows whose labels may be any."""
    predicted = np.where(scores > 0, positive, 0)
    one = {"labels": [positive], "average": "macro", "zero_division": 0}
    precise, found, _ = metrics.precision_recall_curve(y == positive, scores)
    right = y == positive
    ranked, has_both = untied(right, scores), 0 < right.sum() < len(y)
    return {
        "accuracy": metrics.accuracy_score(y, predicted),
        "error_rate": metrics.zero_one_loss(y, predicted),
        "precision": metrics.precision_score(y, predicted, **one),
        "recall": metrics.recall_score(y, predicted, **one),
        "f1": metrics.f1_score(y, predicted, **one),
        "fbeta": metrics.fbeta_score(y, predicted, beta=2.0, **one),
        "balanced_error": 1 - metrics.balanced_accuracy_score(y, predicted),
        "roc_area": metrics.roc_auc_score(right, ranked) if has_both else None,
        "average_precision": metrics.average_precision_score(right, ranked)
        if right.any()
        else None,
        "recall_at_precision": found[precise >= 0.9].max() if right.any() else None,
        "precision_at_recall": precise[:-1][found[:-1] >= 0.9].max() if right.any() else None,
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # classes without rows
@pytest.mark.parametrize("labels", [[0, 3], [0, 3, 7], [0, 3, 5, 7], [3], [0], [5, 7]])
def test_two_classes(labels):
    for seed in DRAWS:
        rng = np.random.default_rng([seed, *labels])
        n = int(rng.integers(1, 12))
        y, scores = rng.choice(labels, n).astype(float), rng.integers(-2, 3, n) / 2
        tally = Scores((0.0, 3.0))
        half = n // 2
        for rows in (slice(half), slice(half, n)):
            tally.add(drawn_rows(y[rows]), scores[rows])
        expected = of_two_classes(y, scores, 3)
        compare(
            Classification().measure(tally).values,
            {name: percent(value) for name, value in expected.items()},
        )


@pytest.mark.parametrize("labels", [[1, 2, 3], [1, 2, 3, 4, 9], [1, 4, 9], [9], [2]])
def test_several_classes(labels):
    names = np.array([1.0, 2.0, 3.0])
    for seed in DRAWS:
        rng = np.random.default_rng([seed, *labels])
        n = int(rng.integers(1, 12))
        y, scores = rng.choice(labels, n).astype(float), rng.integers(0, 3, (n, 3)) / 2
        first, second = Confusion(names), Confusion(names)
        first.add(drawn_rows(y[: n // 2]), scores[: n // 2])
        second.add(drawn_rows(y[n // 2 :]), scores[n // 2 :])
        first.join(second)
        predicted = names[np.argmax(scores, axis=1)]
        macro = {"average": "macro", "zero_division": 0}
        expected = {
            "accuracy": metrics.accuracy_score(y, predicted),
            "error_rate": metrics.zero_one_loss(y, predicted),
            "precision": metrics.precision_score(y, predicted, **macro),
            "recall": metrics.recall_score(y, predicted, **macro),
            "f1": metrics.f1_score(y, predicted, **macro),
        }
        compare(
            Multiclass().measure(first).values,
            {name: percent(value) for name, value in expected.items()},
        )


@pytest.mark.parametrize("beyond", [0, 2])
def test_label_sets(beyond):
    K = 5
    model = SimpleNamespace(names=np.arange(K), counts=None, n_rows=9)
    for seed in DRAWS:
        rng = np.random.default_rng([seed, beyond])
        n = int(rng.integers(1, 9))
        gold = rng.random((n, K + beyond)) < 0.3
        scores = rng.integers(-3, 3, (n, K)) / 2
        row, place = np.nonzero(scores > 0)
        tally = SetTally(model)
        indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))])
        examples = MultilabelExamples(
            SimpleNamespace(n_rows=n),
            np.arange(K + beyond),
            indptr,
            np.nonzero(gold)[1].astype(np.int32),
            Source("drawn"),
        )
        tally.add(
            examples,
            Predicted(row, place, select_top_scores(scores, 5), np.zeros(n, np.int32), scores),
        )
        on = np.zeros_like(gold)
        on[row, place] = True
        own = np.append(np.ones(K, bool), gold[:, K:].any(axis=0))  # of the model or the file
        met = (gold | on).any(axis=0)
        f1 = {"zero_division": 0}
        expected = {
            "hamming_loss": metrics.hamming_loss(gold[:, own], on[:, own]),
            "subset_accuracy": metrics.accuracy_score(gold, on),
            "micro_f1": metrics.f1_score(gold, on, average="micro", **f1),
            "macro_f1": metrics.f1_score(gold[:, met], on[:, met], average="macro", **f1)
            if met.any()
            else 0.0,
        }
        low = np.full((n, beyond), -9.0)
        ranks = [untied(g, s) for g, s in zip(gold, np.hstack([scores, low]), strict=True)]
        for k in (1, 3, 5):
            expected[f"ndcg@{k}"] = metrics.ndcg_score(gold, ranks, k=k)
        values = {name: percent(value) for name, value in expected.items()}
        compare(tally.measure().values, values)


def test_rankings():
    for seed in DRAWS:
        rng = np.random.default_rng(seed)
        y, scores = rng.integers(0, 4, 18), rng.integers(-2, 3, 18) / 2
        qid = np.repeat([1, 2, 5], 6)
        found = ranking_measures(y, scores, qid).values
        gains, ranked = (2.0**y - 1).reshape(3, 6), untied(y, scores).reshape(3, 6)
        at = {f"ndcg@{k}": metrics.ndcg_score(gains, ranked, k=k) for k in (1, 5, 10)}
        compare(found, at)


def test_numbers():
    for seed in DRAWS:
        rng = np.random.default_rng(seed)
        y = np.append(rng.integers(-3, 4, 9), 5.5)
        scores = rng.normal(size=10)
        expected = {
            "mse": metrics.mean_squared_error(y, scores),
            "mae": metrics.mean_absolute_error(y, scores),
            "r2": metrics.r2_score(y, scores),
        }
        compare(regression_measures(y, scores).values, expected)


def test_rows_inside_and_outside():
    for seed in DRAWS:
        rng = np.random.default_rng(seed)
        y = np.append(rng.choice([-1.0, 1.0], 9), [1.0, -1.0])
        scores = rng.integers(-2, 3, 11) / 2
        expected = of_two_classes(np.maximum(y, 0), np.where(scores == 0, 1e-300, scores), 1)
        kept = ("error_rate", "accuracy", "precision", "recall", "f1", "roc_area")
        found = one_class_measures(y, scores).values
        compare(found, {name: 100 * expected[name] for name in kept})


@pytest.mark.parametrize("K", [2, 3])
def test_probabilities(K):
    for seed in DRAWS:
        rng = np.random.default_rng([seed, K])
        p = rng.dirichlet(np.full(K, 0.3), 9)
        p[rng.random(9) < 0.3] = np.eye(K)[0]  # a class that has no chance
        places = rng.integers(-(K > 2), K, 9)
        found = ProbabilityLosses().add(p, places).values()
        columns = p if K == 2 else np.column_stack([p, np.zeros(9)])  # the label it has not
        labels = [*range(columns.shape[1])]
        y = places % len(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rounding of the sums
            loss = metrics.log_loss(y, columns, labels=labels)
        squares = ((columns - np.eye(len(labels))[y]) ** 2).sum(axis=1).mean()
        assert found["log_loss"] == pytest.approx(loss)
        assert found["brier"] == pytest.approx(squares / (2 if K == 2 else 1))


def test_tags_that_the_model_does_not_know_are_chunks_of_the_rules():
    known = ("O", "B-NP", "I-NP", "B-VP")
    tags = (*known, "I-VP", "B-PP", "I-PP", "E-NP", "S-PP")
    parts = split_tags(known)
    for seed in DRAWS:
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 7, 5)
        right = [[str(tag) for tag in rng.choice(tags, n)] for n in lengths]
        predicted = [
            [tag if tag in known and rng.random() < 0.7 else str(rng.choice(known)) for tag in one]
            for one in right
        ]
        others = tuple(rng.permutation([tag for tag in tags if tag not in known]))
        numbers = {tag: k for k, tag in enumerate(known)}
        numbers |= {tag: -2 - k for k, tag in enumerate(others)}
        ours, theirs = (
            np.array([numbers[tag] for one in each for tag in one], np.int32)
            for each in (right, predicted)
        )
        counts = ChunkCounts(parts)
        counts.add(ours, theirs, np.cumsum([0, *lengths]), others)
        whole, by_type = chunk_truth.scores(right, predicted)
        assert list(counts.values().values()) == pytest.approx(whole)
        for row in counts.table():
            if row["chunks"]:
                assert row["recall"] == pytest.approx(by_type[row["type"]][1])
        flat = [[tag for one in each for tag in one] for each in (right, predicted)]
        wrong = np.add.reduceat(ours != theirs, np.cumsum([0, *lengths[:-1]]))
        expected = {"token_error": percent(metrics.zero_one_loss(*flat))}
        compare(sequence_measures(wrong, lengths).values, expected)


def test_no_measure_was_left_out():
    names = {name for task in TASKS for name in measures(task)}
    assert SEEN.isdisjoint(OWN)
    if len(SEEN) > 20:  # all tests ran in this process
        assert names == SEEN | OWN
