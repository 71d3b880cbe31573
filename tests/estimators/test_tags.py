# SPDX-License-Identifier: BSD-3-Clause
"""ChainSVM beside its fit: what it takes, and what it says of its tags."""

import itertools
import math

import numpy as np
import pytest

import svmcut
from svmcut import ChainSVM
from svmcut.base.errors import DataError, UsageError

X = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [["w:the"], ["w:cat"]], [["w:runs"]]]
Y = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"], ["O"]]


@pytest.fixture(scope="module")
def machine():
    return ChainSVM(C=10.0, tol=0.05, random_state=0).fit(X, Y)


def test_empty_sequences_and_generators_go_in_and_come_out(machine):
    holes = [[], X[0], [], X[2], []]
    assert machine.predict(holes) == [[], Y[0], [], Y[2], []] == machine.predict(iter(holes))
    assert machine.predict((token for token in one) for one in X) == Y
    assert machine.predict([]) == [] and machine.predict([[], []]) == [[], []]
    assert [len(one) for one in machine.predict_confidences(holes)] == [0, 3, 0, 1, 0]
    assert machine.predict_marginals([[]]) == [[]] and machine.predict_confidences([]) == []
    assert [len(one) for one in machine.predict_n_best(holes, 2)] == [1, 2, 1, 2, 1]
    assert machine.predict_n_best([[]], 2) == [[([], 0.0)]]
    again = ChainSVM(C=10.0, tol=0.05, random_state=0)
    again.fit((iter(one) for one in [*X, []]), (iter(one) for one in [*Y, []]))
    assert again.predict(X) == Y


@pytest.mark.parametrize(
    "bad, message",
    [
        (None, "None is no list of sequences"),
        ("the dog", "'the dog' is no list of sequences"),
        ({"w": "the"}, "is no list of sequences"),
        ([None], "None is no sequence; expected a list of tokens"),
        ([b"the"], "b'the' is no sequence"),
        (["the"], "'the' is no sequence"),
        ([3], "3 is no sequence"),
        ([[None]], "None is no token; expected a dict of features"),
        ([[b"the"]], "b'the' is no token"),
        ([[{"w": None}]], "is no token; expected a dict of features, whose values are finite"),
        ([[{"w": b"x"}]], "is no token"),
        ([[["a", b"x"]]], "is no token"),
        ([[["a", None]]], "is no token"),
    ],
)
def test_what_is_no_sequence_is_refused(machine, bad, message):
    with pytest.raises(DataError, match=message):
        machine.predict(bad)
    with pytest.raises(DataError):
        ChainSVM().fit(bad, [["a"]])


def test_tags_that_are_none_or_bytes_are_refused():
    for tag in (None, b"A"):
        with pytest.raises(DataError, match="a tag is None or bytes"):
            ChainSVM().fit([[["a"]]], [[tag]])


def test_weights_are_told_by_name(machine):
    W, V = machine.emission_coef_, machine.transition_coef_
    names, tags = machine.feature_names_, machine.classes_.tolist()
    found = machine.state_features_
    assert found["w:the", "B-NP"] == W[names.index("w:the"), tags.index("B-NP")] > 0
    assert len(found) == np.count_nonzero(W)
    found = machine.transition_features_
    assert found["B-NP", "I-NP"] == V[tags.index("B-NP"), tags.index("I-NP")]
    assert len(found) == np.count_nonzero(V)
    rows = ChainSVM(random_state=0).fit([np.eye(2)], [["a", "b"]])
    with pytest.raises(AttributeError, match="state_features_ is of features by name"):
        _ = rows.state_features_


def test_probabilities_and_the_best_few_are_those_of_all_labellings(machine):
    W, V, tags = machine.emission_coef_, machine.transition_coef_, machine.classes_.tolist()
    column = {name: k for k, name in enumerate(machine.feature_names_)}
    words, K = ["w:the", "w:dog", "w:barks"], len(tags)
    scores = {
        y: sum(W[column[word], k] for word, k in zip(words, y, strict=True))
        + sum(V[a, b] for a, b in itertools.pairwise(y))
        for y in itertools.product(range(K), repeat=3)
    }
    total = sum(map(math.exp, scores.values()))
    marginals, sure = machine.predict_marginals(X)[0], machine.predict_confidences(X)[0]
    for t, (row, p, tag) in enumerate(zip(marginals, sure, Y[0], strict=True)):
        for k, name in enumerate(tags):
            part = sum(math.exp(score) for y, score in scores.items() if y[t] == k) / total
            assert row[name] == pytest.approx(part)
        assert p == row[tag]
    ranked = sorted(scores, key=scores.get, reverse=True)
    best = machine.predict_n_best(X, 4)
    assert [found for found, _ in best[0]] == [[tags[k] for k in y] for y in ranked[:4]]
    assert [score for _, score in best[0]] == pytest.approx([scores[y] for y in ranked[:4]])
    assert len(best[2]) == K
    with pytest.raises(UsageError, match="n is 0"):
        machine.predict_n_best(X, 0)


def test_probabilities_are_calibrated_where_they_are_asked_for(tmp_path):
    plain = ChainSVM(C=10.0, tol=0.1, random_state=0)
    fitted = ChainSVM(C=10.0, tol=0.1, probability=True, random_state=0)
    noisy = Y * 5 + [["O", "I-NP"], ["I-NP"]]
    data = X * 5 + [X[1], X[2]]
    assert plain.fit(data, noisy).predict_confidences(X) != fitted.fit(
        data, noisy
    ).predict_confidences(X)
    fitted.save(tmp_path / "model")
    assert b"#@ temperature " in (tmp_path / "model").read_bytes()


def test_values_that_are_not_finite_and_tags_of_two_kinds_are_refused(machine):
    for value in (math.nan, math.inf):
        with pytest.raises(DataError, match="whose values are finite numbers or texts"):
            machine.predict([[{"word": value}]])
    with pytest.raises(DataError, match="some tags are texts and others are not"):
        ChainSVM().fit([[["a"], ["b"]]], [[1, "x"]])


def test_quick_has_a_temperature_by_itself_and_its_own_c():
    fitted = ChainSVM(quick=True, random_state=0).fit(X * 5, Y * 5)
    assert fitted._model.temperature > 0 and fitted.C is None
    assert all(0 < p <= 1 for one in fitted.predict_confidences(X) for p in one)


def test_score_counts_tokens_or_chunks(machine):
    wrong = [["B-NP", "O", "O"], ["B-NP", "I-NP"], ["O"]]
    assert machine.score(X, wrong) == pytest.approx(5 / 6)
    assert machine.score(X, wrong, chunk=True) == pytest.approx(1 / 2)
    assert machine.score([[], *X], [[], *Y], chunk=True) == 1
    assert math.isnan(machine.score([[]], [[]]))
    with pytest.raises(DataError, match="has not one tag for every token"):
        machine.score(X, Y[:2])
    numbered = ChainSVM(random_state=0).fit(X, [[1, 2, 1], [1, 2], [2]])
    with pytest.raises(DataError, match="tags say no chunks"):
        numbered.score(X, [[1, 2, 1], [1, 2], [2]], chunk=True)


def test_a_loaded_model_of_columns_tags_tuples(tmp_path):
    (tmp_path / "train").write_text("the D B\ndog N I\n\na D B\ncat N I\nruns V O\n")
    outcome = svmcut.train(
        tmp_path / "train", task="sequence", input="conll", gap=0.1, example_cost=5.0
    )
    outcome.save(tmp_path / "model")
    model = svmcut.load(tmp_path / "model")
    expected = [["B", "I"], [], ["O"]]
    assert model.predict([[("the", "D"), ("cat", "N")], [], [["runs", "V"]]]) == expected
    with pytest.raises(DataError, match="expected a tuple of 2 texts"):
        model.predict([["the"]])
