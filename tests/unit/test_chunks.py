# SPDX-License-Identifier: BSD-3-Clause
"""Chunks and their measures, against conlleval's rules."""

import numpy as np
import pytest
from reference import chunks as truth

from svmcut.scoring.chunks import ChunkCounts, find_chunks, split_tags

TAGS = ("O", *(f"{letter}-{kind}" for kind in ("NP", "VP-x") for letter in "BIES"))


def drawn(seed, n, tags):
    rng = np.random.default_rng(seed)
    return [[str(tag) for tag in rng.choice(tags, rng.integers(1, 9))] for _ in range(n)]


def numbers(sequences, tags):
    places = {tag: k for k, tag in enumerate(tags)}
    flat = [places[tag] for sequence in sequences for tag in sequence]
    return np.array(flat, np.int32), np.cumsum([0, *map(len, sequences)])


@pytest.mark.parametrize("tags", [TAGS, ("B", "I", "O"), ("I-A", "I-B", "B-A", "O")])
def test_chunks_and_their_measures_are_those_of_the_rules(tags):
    right, parts = drawn(0, 2000, tags), split_tags(tags)
    rng = np.random.default_rng(1)
    predicted = [
        [tag if rng.random() < 0.8 else str(rng.choice(tags)) for tag in sequence]
        for sequence in right
    ]
    ours, bounds = numbers(right, tags)
    theirs, _ = numbers(predicted, tags)
    first, last, types = find_chunks(parts, ours, bounds)
    expected = [
        (start + a, start + b, kind)
        for start, sequence in zip(bounds.tolist(), right, strict=False)
        for a, b, kind in truth.chunks(sequence)
    ]
    assert expected == [
        (a, b, parts.names[k])
        for a, b, k in zip(first.tolist(), last.tolist(), types.tolist(), strict=True)
    ]
    counts = ChunkCounts(parts)
    half = int(bounds[1000])
    counts.add(ours[:half], theirs[:half], bounds[:1001])
    counts.add(ours[half:], theirs[half:], bounds[1000:] - half)
    whole, by_type = truth.scores(right, predicted)
    assert list(counts.values().values()) == pytest.approx(whole)
    for row in counts.table():
        values = row["precision"], row["recall"], row["f1"]
        assert values == pytest.approx(by_type[row["type"]])


def test_an_example_of_the_task():
    tags = ("O", "B-NP", "I-NP", "B-PP")
    right = [["B-NP", "I-NP", "B-PP", "B-NP", "O"]]
    predicted = [["B-NP", "I-NP", "O", "I-NP", "I-NP"]]
    counts = ChunkCounts(split_tags(tags))
    counts.add(numbers(right, tags)[0], *numbers(predicted, tags))
    assert counts.values() == {
        "chunk_precision": 50.0,
        "chunk_recall": pytest.approx(100 / 3),
        "chunk_f1": pytest.approx(40.0),
    }


def test_tags_that_nobody_knows_are_chunks_that_no_prediction_has():
    counts = ChunkCounts(split_tags(("O", "B-NP")))
    counts.add(np.array([-1, 1, 0]), np.array([1, 1, 0]), np.array([0, 3]))
    assert counts.values()["chunk_recall"] == 50 and counts.values()["chunk_precision"] == 50


def test_without_chunks_measures_are_zero_and_shares_undefined():
    counts = ChunkCounts(split_tags(("O", "B-NP")))
    counts.add(np.array([0]), np.array([0]), np.array([0, 1]))
    assert set(counts.values().values()) == {0.0} and np.isnan(counts.table()[0]["f1"])


@pytest.mark.parametrize("tags", [("O",), ("NN", "VB"), ("O", "B-NP", "NN"), ("O", "X-NP"), ()])
def test_other_tags_say_no_chunks(tags):
    assert split_tags(tags) is None
