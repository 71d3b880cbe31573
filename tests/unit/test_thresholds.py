# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds keep their promises as often as they say, and say why where none does."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from svmcut.base.errors import TrainingError, UsageError
from svmcut.scoring.thresholds import choose_threshold, make_promises

SHARE, SHIFT = 0.3, 2.0


def draw(rng, n):
    """Positives around SHIFT, negatives around 0."""
    positive = rng.random(n) < SHARE
    return positive, rng.normal(size=n) + SHIFT * positive


def truth(threshold):
    """Precision, recall and specificity of the population."""
    hits, false = SHARE * norm.sf(threshold - SHIFT), (1 - SHARE) * norm.sf(threshold)
    return {
        "precision": hits / (hits + false),
        "recall": norm.sf(threshold - SHIFT),
        "specificity": norm.cdf(threshold),
    }


@pytest.mark.every(2)
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize(
    "floors",
    [
        {"recall": 0.9},
        {"specificity": 0.95},
        {"precision": 0.8},
        {"precision": 0.8, "recall": 0.4},
        {"recall": 0.5, "specificity": 0.9},
    ],
    ids=str,
)
def test_promises_are_kept(floors, trained):
    """In 300 draws at a confidence of 0.9, broken more than 45 times with probability 0.002."""
    rng, broken, found = np.random.default_rng(5), 0, 0
    asked = make_promises(floors, None, 0.9)
    for _ in range(300):
        positive, scores = draw(rng, 600)
        before = draw(rng, 500)[1] if trained else None
        try:
            threshold = choose_threshold(positive, scores, asked, before)
        except TrainingError:
            continue
        found += 1
        broken += any(truth(threshold)[name] < floor for name, floor in floors.items())
    assert found > 200 and broken <= 45
    assert binom.sf(45, 300, 0.1) < 0.003


def test_the_recall_is_an_order_statistic():
    """59 positives are the least of which one shows a recall of 0.95 with confidence 0.95."""
    scores = np.append(np.arange(59.0), [-1.0, 0.5])
    positive = np.repeat([True, False], [59, 2])
    asked = make_promises({"recall": 0.95}, None, 0.95)
    assert choose_threshold(positive, scores, asked) == -0.5
    with pytest.raises(TrainingError, match="needs 59 positive rows, and there are 58"):
        choose_threshold(positive[1:], scores[1:], asked)


def test_of_many_precise_thresholds_the_lowest_has_the_most_recall():
    rng = np.random.default_rng(2)
    positive, scores = draw(rng, 4000)
    most, first = (
        choose_threshold(
            positive, scores, make_promises({"precision": 0.8, "recall": 0.3}, of, 0.9)
        )
        for of in ("recall", "precision")
    )
    assert truth(most)["recall"] > truth(first)["recall"]
    assert truth(most)["precision"] < truth(first)["precision"]


def test_what_cannot_be_promised_is_said():
    rng = np.random.default_rng(3)
    positive, scores = draw(rng, 400)
    with pytest.raises(TrainingError, match="no threshold keeps a precision of at least 0"):
        choose_threshold(positive, scores, make_promises({"precision": 0.999}, None, 0.95))
    with pytest.raises(TrainingError, match="recall and specificity cannot both"):
        both = make_promises({"recall": 0.95, "specificity": 0.95}, None, 0.9)
        choose_threshold(positive, scores, both)
    with pytest.raises(TrainingError, match="not finite"):
        choose_threshold(positive, scores * np.inf, make_promises({"recall": 0.5}, None, 0.9))
    for floors, maximise, message in (
        ({}, None, "nothing is promised"),
        ({"recall": 0.9}, "recall", "leave out"),
        ({"precision": 0.9}, "precision", "needs a floor under recall"),
        ({"f1": 0.9}, None, "expected a share"),
        ({"recall": 1.0}, None, "expected a share"),
    ):
        with pytest.raises(UsageError, match=message):
            make_promises(floors, maximise, 0.95)
    with pytest.raises(UsageError, match="confidence"):
        make_promises({"recall": 0.9}, None, 1.5)
