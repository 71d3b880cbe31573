# SPDX-License-Identifier: BSD-3-Clause
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import measures as slow
from sklearn import metrics

from svmcut.scoring.measures import MeasureTargets, classification_measures, ranking_measures

# Few distinct values, so that ties are the rule.
rows = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.integers(-3, 3)), min_size=1, max_size=30
)
graded = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 4), st.integers(-3, 3)), min_size=1, max_size=40
)


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, abs=1e-9)


@given(rows)
def test_classification_agrees_with_the_definitions(rows):
    y, scores = np.array(rows, float).T
    found = classification_measures(y, scores).values
    positive = list(y > 0)
    tp, fp, fn, tn = slow.contingency(positive, scores)
    precision = tp / (tp + fp) if tp + fp else 0
    recall = tp / (tp + fn) if tp + fn else 0
    expected = {
        "error_rate": (fp + fn) / len(y),
        "accuracy": (tp + tn) / len(y),
        "precision": precision,
        "recall": recall,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp else 0,
        "prbep": slow.prbep(positive, scores),
        "roc_area": slow.roc_area(positive, scores),
        "average_precision": slow.average_precision(positive, scores),
    }
    for name, value in expected.items():
        assert same(found.pop(name), 100 * value), name
    own = slow.of_table(fn, fp, tp + fn, fp + tn, 2.0) | slow.at_thresholds(
        positive, scores, 0.9, (0.0, 0.1)
    )
    assert found.keys() == own.keys()
    for name, value in own.items():
        assert same(found[name], value), name


@given(rows, st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from([(0, 0.5), (0.25, 0.75), (0, 1)]))
def test_measures_are_taken_at_what_the_loss_was(rows, floor, rates):
    y, scores = np.array(rows, float).T
    aims = MeasureTargets(f=floor, q=floor, precision=floor, recall=floor, rates=rates)
    found = classification_measures(y, scores, None, aims).values
    positive = list(y > 0)
    tp, fp, fn, tn = slow.contingency(positive, scores)
    own = slow.of_table(fn, fp, tp + fn, fp + tn, floor)
    for name, value in (own | slow.at_thresholds(positive, scores, floor, rates)).items():
        assert same(found[name], value), name
    if rates == (0, 1):
        assert same(found["partial_auc"], found["roc_area"])


def test_classification_agrees_with_scikit_learn_without_ties(rng):
    y = np.where(rng.random(500) < 0.3, 1.0, -1.0)
    scores = rng.normal(size=500) + 0.5 * y
    found = classification_measures(y, scores).values
    assert found["roc_area"] == pytest.approx(100 * metrics.roc_auc_score(y > 0, scores))
    assert found["average_precision"] == pytest.approx(
        100 * metrics.average_precision_score(y > 0, scores)
    )
    assert found["f1"] == pytest.approx(100 * metrics.f1_score(y > 0, scores > 0))
    assert found["precision"] == pytest.approx(100 * metrics.precision_score(y > 0, scores > 0))
    assert found["recall"] == pytest.approx(100 * metrics.recall_score(y > 0, scores > 0))


def test_undefined_measures():
    all_positive = classification_measures([1, 1], [0.5, -1]).values
    assert math.isnan(all_positive["roc_area"]) and all_positive["average_precision"] == 100
    all_negative = classification_measures([-1, 0], [0.5, -1]).values
    assert math.isnan(all_negative["roc_area"]) and math.isnan(all_negative["average_precision"])
    assert all_negative["prbep"] == all_negative["f1"] == all_negative["recall"] == 0


def test_nan_predicts_negative_and_ranks_last():
    found = classification_measures([1, -1, 1], [np.nan, -5, 1]).values
    assert found["recall"] == 50
    assert found["roc_area"] == 50


@given(graded)
def test_ranking_agrees_with_the_definitions(rows):
    qid, y, scores = (np.array(column) for column in zip(*rows))
    found = ranking_measures(y, scores, qid)
    queries = [(y[qid == q].tolist(), scores[qid == q].tolist()) for q in np.unique(qid)]
    swapped = [slow.swapped_pairs(*query) for query in queries]
    assert found.total == len(queries)
    assert found.values["swapped_pairs"] == sum(s for s, _ in swapped)
    assert found.correct == sum(s == 0 for s, _ in swapped)
    assert found.values["swapped_percent"] == pytest.approx(
        100 * np.mean([s / p if p else 0 for s, p in swapped])
    )
    for k in (1, 5, 10):
        assert found.values[f"ndcg@{k}"] == pytest.approx(
            np.mean([slow.ndcg(*query, k) for query in queries])
        )
    precisions = [slow.average_precision([g >= 1 for g in y], s) for y, s in queries]
    assert found.values["map"] == pytest.approx(np.mean(np.nan_to_num(precisions)))


def test_ndcg_agrees_with_scikit_learn_without_ties(rng):
    y, scores = rng.integers(0, 5, 60), rng.normal(size=60)
    found = ranking_measures(y, scores, np.repeat([1, 2, 9], 20), cutoffs=(3, 10, 50))
    for k in (3, 10, 50):
        per_query = [
            metrics.ndcg_score([2.0 ** y[q] - 1], [scores[q]], k=k)
            for q in np.arange(60).reshape(3, 20)
        ]
        assert found.values[f"ndcg@{k}"] == pytest.approx(np.mean(per_query))


def test_huge_grades_do_not_overflow():
    assert ranking_measures([5000, 4999], [0.0, 1.0], [1, 1]).values["ndcg@1"] == pytest.approx(0.5)


def test_one_query_of_many_rows_is_counted_exactly():
    n = 100_000
    found = ranking_measures(np.arange(n), -np.arange(n), np.zeros(n))
    assert found.values["swapped_pairs"] == n * (n - 1) // 2
    assert found.values["swapped_percent"] == 100
