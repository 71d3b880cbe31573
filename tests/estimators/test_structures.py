# SPDX-License-Identifier: BSD-3-Clause
"""RankSVM, MultilabelSVM and ChainSVM: rankings, sets of labels, tags."""

import doctest
import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate

import svmcut
from svmcut import ChainSVM, MultilabelSVM, RankSVM
from svmcut.base.errors import DataError
from svmcut.cli.start import main
from svmcut.estimators import ranking, structured

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def queries():
    return svmcut.load_svmlight_file(DATA / "ranking.train", query_id=True)


@pytest.fixture(scope="module")
def sets():
    return svmcut.load_svmlight_file(DATA / "labels.train", multilabel=True)


@pytest.fixture(scope="module")
def sentences():
    """Sequences of data/tags as dicts of features, their tags as words, and the same as
    matrices."""
    X, y, qid = svmcut.load_svmlight_file(DATA / "tags.train", query_id=True)
    starts = np.flatnonzero(np.diff(qid, prepend=-1, append=-1))
    parts = [X[start:stop] for start, stop in itertools.pairwise(starts)]
    dicts = [
        [{f"f{j:04d}": v for j, v in zip(row.indices, row.data, strict=True)} for row in part]
        for part in parts
    ]
    tags = [
        [f"t{tag:02.0f}" for tag in y[start:stop]] for start, stop in itertools.pairwise(starts)
    ]
    return dicts, tags, parts


@pytest.mark.parametrize("module", [ranking, structured], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_rankings_are_those_of_the_command_line(tmp_path, queries, rng):
    X, y, qid = queries
    machine = RankSVM(C=1.0, random_state=0).fit(X, y, qid)
    outcome = svmcut.train(DATA / "ranking.train", task="rank", cost=1.0, gap=1e-3)
    assert machine.converged_ and machine.primal_[0] == pytest.approx(outcome.primal, rel=2e-3)
    order = rng.permutation(len(y))
    mixed = RankSVM(C=1.0, random_state=0).fit(X[order], y[order], qid[order])
    assert mixed.score(X, y, qid) == pytest.approx(machine.score(X, y, qid), abs=0.01)
    assert machine.score(X, y, qid) > 0.6
    machine.save(tmp_path / "model")
    assert (
        main(
            [
                "classify",
                str(DATA / "ranking.train"),
                str(tmp_path / "model"),
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    np.testing.assert_allclose(
        machine.predict(X), np.loadtxt(tmp_path / "out"), rtol=1e-5, atol=1e-5
    )


def test_queries_are_routed_and_never_left_out_silently(queries):
    X, y, qid = queries
    for call in (RankSVM().fit, RankSVM().fit(X, y, qid).score):
        with pytest.raises(ValueError, match="qid: is missing; give the query of every row"):
            call(X, y)
    with pytest.raises(ValueError, match="one query a row"):
        RankSVM().fit(X, y, qid[1:])
    with sklearn.config_context(enable_metadata_routing=True):
        machine = RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_validate(
            machine, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3), error_score="raise"
        )
    assert found["test_score"].min() > 0.5


def test_queries_may_be_the_rows_of_each(queries):
    X, y, qid = queries
    sizes = np.unique(qid, return_counts=True)[1]
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    one, other = RankSVM(random_state=0).fit(X, y, qid), RankSVM(random_state=0)
    other.fit(X, y, group=sizes)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.score(X, y, qid) == other.score(X, y, group=sizes.tolist())
    for group, message in (
        (sizes[1:], "group: adds up to .* rows; expected"),
        ([0.5, 2.5], "group: is no list of whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            other.fit(X, y, group=group)
    with pytest.raises(ValueError, match="qid and group say the same"):
        other.fit(X, y, qid, sizes)


@pytest.mark.parametrize("pairs", ["all", "none"])
def test_label_sets(tmp_path, sets, pairs):
    X, Y = sets
    machine = MultilabelSVM(pairs=pairs, tol=0.01, random_state=0).fit(X, Y)
    outcome = svmcut.train((X, Y), task="multilabel", pairs=pairs, gap=0.01)
    assert machine.converged_ and machine.primal_[0] == pytest.approx(outcome.primal, rel=0.02)
    assert (machine.pair_coef_ is None) == (pairs == "none") and machine.score(X, Y) > 0.8
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(machine.fit(X, Y.toarray()).predict(X), copy.predict(X))
    scores = machine.decision_function(X)
    has = np.isfinite(scores[0])
    expected = X @ machine.coef_.T + machine.intercept_
    np.testing.assert_allclose(scores[:, has], expected[:, has], rtol=1e-5, atol=1e-5)
    machine.save(tmp_path / "model")
    found = svmcut.load(tmp_path / "model").predict(X)
    np.testing.assert_array_equal(found, machine.predict(X)[:, : found.shape[1]])


def test_tags_from_dicts_and_from_matrices(tmp_path, sentences):
    dicts, tags, parts = sentences
    machine = ChainSVM(C=0.1, tol=0.05, random_state=0).fit(dicts, tags)
    assert machine.converged_ and machine.score(dicts, tags) > 0.7
    rows = ChainSVM(C=0.1, tol=0.05, random_state=0).fit(parts, tags)
    assert (
        rows.primal_[0] == pytest.approx(machine.primal_[0], rel=0.05)
        and rows.feature_names_ is None
    )
    assert machine.emission_coef_.shape == (len(machine.feature_names_), len(machine.classes_))
    assert pickle.loads(pickle.dumps(machine)).predict(dicts[:5]) == machine.predict(dicts[:5])
    rows.save(tmp_path / "model")
    file, (X, _, qid) = (
        svmcut.load(tmp_path / "model"),
        svmcut.load_svmlight_file(DATA / "tags.train", query_id=True),
    )
    flat = [tag for sequence in rows.predict(parts) for tag in sequence]
    assert np.mean(rows.classes_[file.predict(X, qid) - 1] == flat) > 0.999


def test_the_weights_of_a_chain_score_as_it_predicts(sentences):
    import itertools

    dicts = [[{"a": 1.0}, {"b": 2.0}, ["a", "c"]], [["c"], {"b": 1.0, "word": "x"}]]
    machine = ChainSVM(C=3.0, random_state=0).fit(dicts, [["P", "Q", "P"], ["R", "Q"]])
    assert machine.feature_names_ == ["a", "b", "c", "word:x"]
    tokens = np.array([[1, 0, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0.0]])
    nodes, moves = tokens @ machine.emission_coef_, machine.transition_coef_

    def value(path):
        return sum(nodes[t, k] for t, k in enumerate(path)) + sum(
            moves[a, b] for a, b in itertools.pairwise(path)
        )

    best = max(itertools.product(range(3), repeat=3), key=value)
    assert machine.predict(dicts[:1]) == [machine.classes_[list(best)].tolist()]
    assert machine.predict([[["unknown"]]])[0][0] in machine.classes_


def test_sequences_without_a_tag_for_every_token_are_refused():
    with pytest.raises(ValueError, match="not one tag for every token"):
        ChainSVM().fit([[["a"], ["b"]]], [["X"]])


@pytest.mark.parametrize("matrices", [False, True])
def test_sequences_without_tokens_count_for_nothing(matrices, tmp_path):
    rng = np.random.default_rng(0)
    X = (
        [rng.normal(size=(n, 3)) for n in (2, 3, 1, 4)]
        if matrices
        else [
            [{"word": word} for word in text.split()]
            for text in ("the dog", "a cat sleeps", "dogs", "the cat and dogs")
        ]
    )
    y = [list("DN"), list("DNV"), ["N"], list("DNDN")]
    none = np.zeros((0, 3)) if matrices else []
    holes, of_holes = [none, X[0], none, *X[1:], none], [[], y[0], [], *y[1:], []]
    whole, holed = ChainSVM(random_state=0).fit(X, y), ChainSVM(random_state=0).fit(holes, of_holes)
    assert holed._model.w.tobytes() == whole._model.w.tobytes()
    found = whole.predict(X)
    assert holed.predict(holes) == [[], found[0], [], *found[1:], []]
    assert holed.score(holes, of_holes) == whole.score(X, y)
    assert (
        holed.predict([none]) == [[]]
        and holed.predict([]) == []
        and np.isnan(holed.score([none], [[]]))
    )
    v = np.array([9.0, 1, 9, 2, 3, 4, 9])
    weighed = ChainSVM(random_state=0).fit(holes, of_holes, sample_weight=v)
    same = ChainSVM(random_state=0).fit(X, y, sample_weight=[1, 2, 3, 4])
    assert weighed._model.w.tobytes() == same._model.w.tobytes()
    for message, args in (
        ("no sequence has a token", ([none], [[]])),
        ("one tag for every token", ([none], [["D"]])),
        ("weights for 7 sequences", (holes, of_holes, [1.0] * 4)),
    ):
        with pytest.raises(DataError, match=message):
            ChainSVM().fit(*args)
    if not matrices:
        whole.save(tmp_path / "model")
        assert svmcut.load(tmp_path / "model").predict(holes) == holed.predict(holes)
        assert svmcut.load(tmp_path / "model").predict([[]]) == [[]]
