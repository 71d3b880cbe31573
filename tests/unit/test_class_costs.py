# SPDX-License-Identifier: BSD-3-Clause
"""Classes of which some mistakes cost more: the risk against its definition, training against the
same."""

import itertools

import numpy as np
import pytest
from drivers import driver
from programs import call

from svmcut.base.errors import UsageError
from svmcut.data.examples import Csr, Examples, Sequences, Source
from svmcut.data.labellings import Labellings
from svmcut.formats import read_model
from svmcut.risks.chain import SquaredSequences
from svmcut.risks.multiclass import ClassCostRisk, TokenCostRisk, squared_differences

VARIANTS = [*itertools.product(("margin", "slack"), (1, 2))]
NAMES = np.array([1.0, 2.0, 5.0, 6.0])


def truth(s, y, names, rescaling, norm, weights=None):
    """R(s) from the definition, pair by pair."""
    value = 0.0
    for i, right in enumerate(y):
        xi = 0.0
        for k in range(len(names)):
            delta = (names[right] - names[k]) ** 2
            delta = np.sqrt(delta) if norm == 2 else delta
            difference = s[i, k] - s[i, right]
            xi = max(
                xi,
                delta * (1 + difference)
                if rescaling == "slack"
                else delta * (k != right) + difference,
            )
        value += (1.0 if weights is None else weights[i]) * xi**norm
    return value


def scores(rng, n, K):
    s = rng.normal(size=(n, K)) * rng.choice([0.1, 1.0, 10.0])
    return np.round(s) if rng.integers(2) else s  # with ties


@pytest.mark.parametrize("rescaling, norm", VARIANTS)
def test_value_and_cut_are_those_of_the_definition(rescaling, norm, rng):
    for trial in range(20):
        n, K = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        y, names = rng.integers(0, K, n), NAMES[:K]
        weights = rng.integers(0, 4, n).astype(float) if trial % 2 else None
        risk = ClassCostRisk(y, squared_differences(names, y), rescaling, norm, weights)
        s = scores(rng, n, K)
        cut = risk.linearize(s.ravel())
        assert cut.value == pytest.approx(truth(s, y, names, rescaling, norm, weights), rel=1e-12)
        assert cut.offset + cut.coef @ s.ravel() == pytest.approx(cut.value, rel=1e-12, abs=1e-12)
        for _ in range(5):
            other = s + scores(rng, n, K)
            assert (
                cut.offset + cut.coef @ other.ravel()
                <= truth(other, y, names, rescaling, norm, weights) + 1e-9
            )
            if norm == 1:
                most = (
                    risk.steepest
                    * (len(y) if weights is None else weights.sum())
                    * np.abs(other - s).max()
                )
                assert abs(risk.linearize(other.ravel()).value - cut.value) <= most + 1e-9
        assert (risk.steepest < np.inf) == (norm == 1)


@pytest.mark.parametrize("rescaling, norm", VARIANTS)
def test_as_sequences_of_one_token(rescaling, norm, rng):
    n, K = 9, 4
    y, weights = rng.integers(0, K, n).astype(np.int32), rng.random(n)
    y[0] = K - 1
    X = Csr.from_dense(rng.normal(size=(n, 2)))
    chains = Labellings(Sequences(X, np.arange(n + 1), y, Source("memory"), None), K, 4, 0)
    losses = squared_differences(NAMES, y)
    plain = ClassCostRisk(y, losses, rescaling, norm, weights)
    risk = TokenCostRisk(chains.chains, ClassCostRisk(y, losses, rescaling, norm), weights)
    risk = risk if norm == 1 else SquaredSequences(risk)
    s = scores(rng, n, K)
    assert risk.linearize(s.ravel()).value == pytest.approx(
        plain.linearize(s.ravel()).value, rel=1e-12
    )


def examples(rng, n=30):
    y = NAMES[rng.integers(0, 4, n)]
    X = np.round(np.column_stack([y + rng.normal(size=n), rng.normal(size=n)]) / 3, 2)
    return Examples(Csr.from_dense(X), y, None, None, Source("memory"))


@pytest.mark.parametrize(
    "kernel", [{}, {"kernel": "rbf", "gamma": 0.5, "multiclass": "crammer-singer"}]
)
@pytest.mark.parametrize("rescaling, norm", VARIANTS)
def test_training_meets_its_certificate(kernel, rescaling, norm, rng):
    data = examples(rng)
    bias = {} if kernel else {"bias": 0.0}
    found = driver(
        data,
        task="multiclass",
        loss="squared-difference",
        rescaling=rescaling,
        slack_norm=norm,
        cost=None,
        example_cost=0.1,
        gap=1e-3,
        **kernel,
        **bias,
    ).fit(None, 0.1)
    assert (
        found.converged
        and found.solver == "cutting-plane"
        and found.model.loss == "squared-difference"
    )
    y = np.searchsorted(NAMES, data.y)
    s = found.model.scores(data.X)
    value = 0.5 * found.norm**2 + 0.1 * truth(s, y, NAMES, rescaling, norm)
    assert value == pytest.approx(found.primal, rel=1e-6) and found.dual <= value
    assert value < 0.99 * 0.1 * truth(0 * s, y, NAMES, rescaling, norm)


@pytest.mark.parametrize(
    "words, message",
    [
        (
            {"multiclass": "one-vs-rest"},
            "loss='squared-difference' is for multiclass='crammer-singer'",
        ),
        ({"kernel": "rbf"}, "is for multiclass='crammer-singer'; give that"),
        ({"solver": "dual-cd"}, "does not train with loss='squared-difference'"),
        (
            {"kernel": "rbf", "multiclass": "crammer-singer", "solver": "sampled-cuts"},
            "sampled-cuts",
        ),
    ],
)
def test_what_it_does_not_go_with(words, message, rng):
    with pytest.raises(UsageError, match=message):
        driver(examples(rng), task="multiclass", loss="squared-difference", **words)


def test_the_program_trains_it_and_tells_its_average(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    data = examples(rng)
    text = [
        f"{y:g} 1:{a:.2f} 2:{b:.2f}"
        for y, (a, b) in zip(data.y, data.X.to_dense().tolist(), strict=True)
    ]
    (tmp_path / "train").write_text("\n".join(text) + "\n")
    for kernel in ((), ("-t", 2)):
        assert call("svm_multiclass_learn", "-c", 5, "-l", 1, *kernel, "train", "new") == 0
        assert (tmp_path / "new").read_text().splitlines()[3] == "1 # loss function"
        assert "#@" not in (tmp_path / "new").read_text()
        model = read_model("new")
        assert model.loss == "squared-difference"
        told = capsys.readouterr().out
        s = model.scores(data.X)
        names = np.arange(1.0, 7.0)
        square = truth(s, (data.y - 1).astype(int), names, "margin", 1) / len(data)
        slack = float(told.partition("(global): xi=")[2].split()[0])
        assert slack == pytest.approx(square, rel=1e-4)
        assert call("svm_multiclass_classify", "train", "new", "out") == 0
        loss = ((data.y - names[s.argmax(axis=1)]) ** 2).mean()
        assert f"Average loss on test set: {loss:.4f}\n" in capsys.readouterr().out
    assert call("svm_multiclass_learn", "-c", 5, "-l", 2, "train", "no") == 1
    assert not (tmp_path / "no").exists() and capsys.readouterr().err.count("\n") == 1
