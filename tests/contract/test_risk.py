# SPDX-License-Identifier: BSD-3-Clause
"""Every risk of the registry keeps the protocol: the value is the maximum, the cut lies below the
risk everywhere."""

import subprocess
import sys

import numpy as np
import pytest
from drivers import risk_of
from reference import risks as truth
from reference import survival, tables

from svmcut.base.errors import TrainingError, UsageError
from svmcut.risks import RISKS
from svmcut.risks.contingency import NUMBERS as TABLES
from svmcut.scoring.survival import order_keys
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check

#: Parameters of a loss by what `at` is of it, and whether it has a beta.
OWN = {
    "places": ({"at": 1}, {"at": 3}, {"at": 10}),
    "range": ({"at": (0.0, 0.1)}, {"at": (0.3, 0.8)}, {"at": (0.0, 1.0)}),
    "floor": ({"at": 0.3}, {"at": 0.75}, {"at": 1.0}),
    True: ({"beta": 0.5}, {"beta": 1.0}, {"beta": 3.0}),
    False: ({},),
}


def _cases():
    for name, entry in RISKS.items():
        variants = [(rescaling, norm) for norm in entry.norms for rescaling in entry.rescalings]
        fractions = {"prec-at-k": (0.0, 0.4, 1.0), "rec-at-k": (0.0, 1.0, 1.6)}.get(name, (0.0,))
        for rescaling, slack_norm in variants:
            for p in fractions:
                for own in OWN.get(entry.place, OWN["beta" in entry.takes]):
                    yield pytest.param(
                        name,
                        {"p": p, "rescaling": rescaling, "slack_norm": slack_norm, **own},
                        id=f"{name}-{rescaling}-{slack_norm}-p{p:g}"
                        + "".join(f"-{key}{of}" for key, of in own.items()),
                    )


CASES = list(_cases())
every_risk = pytest.mark.parametrize(("name", "options"), CASES)


def sample(name, rng, n):
    """Labels, queries and a generator of scores: continuous, quantised with many ties, tiny, all
    equal."""
    if RISKS[name].task == "rank":
        y = rng.choice([-1.5, 0.0, 0.25, 1.0, 7.0], n)
        qid = np.sort(rng.integers(0, 3, n))
    elif RISKS[name].task == "regression":
        y, qid = 2.0 + rng.normal(size=n), None
    else:
        y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 2.0, -1.0)
        y[rng.integers(n)] = 0.0
        y[(np.flatnonzero(y <= 0)[0] + 1) % n] = 1.0
        qid = None

    def scores():
        s = rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0, 40.0])
        kind = rng.integers(4)
        return (
            s
            if kind == 0
            else np.round(s, 1)
            if kind == 1
            else np.round(s)
            if kind == 2
            else np.full(n, s[0])
        )

    return y, qid, scores


def true_value(name, options, bound, s, y, qid):
    positive = y > 0
    if RISKS[name].task == "survival":
        return survival.risk(s, y, 2 if "squared" in name else 1)[0]
    if name in ("map", "ndcg"):
        return truth.ranking_measure(s, y, qid, name, options.get("at", 10))
    if name == "propensities":
        return truth.propensities(s, y, qid)
    if RISKS[name].task == "rank":
        return (truth.ordinal if options["slack_norm"] == 1 else truth.ordinal_squared)(
            s, y, qid, name
        )
    if RISKS[name].task == "regression":
        return getattr(truth, name.replace("-", "_"))(s, y)
    if name == "partial-auc":
        return tables.partial_auc(s, positive, options["at"])
    if RISKS[name].task == "one-class":
        return truth.one_class(s, 0.5)
    if name in truth.OF_SCORES:
        return truth.OF_SCORES[name](s, positive)
    labellings = truth.all_labellings(len(y))
    if name in TABLES:
        own = {key: of for key, of in options.items() if key in ("at", "beta")}
        return tables.value(s, positive, name, labellings, **own)
    k = getattr(bound, "k", 0)
    value = truth.contingency(
        s, positive, name, k, options["rescaling"], options["slack_norm"], labellings
    )
    is_hinge = (
        name == "error-rate" and options["rescaling"] == "margin" and options["slack_norm"] == 1
    )
    return (
        value * len(y) / 100 if is_hinge else value
    )  # the hinge is a plain sum; its 100/n stands in C


@every_risk
def test_value_is_brute_force(name, options, rng):
    for trial in range(12):
        y, qid, scores = sample(name, rng, int(rng.integers(2, 9)))
        s = scores() * (1e12 if trial == 11 else 1.0)
        bound = risk_of(name, **options).bind(y, qid)
        cut = bound.linearize(s)
        expected = true_value(name, options, bound, s, y, qid)
        assert cut.value == pytest.approx(expected, rel=1e-13, abs=1e-13)
        assert cut.coef.dtype == np.float64
        assert cut.coef.shape == s.shape
        slope = np.sum(cut.coef * s)
        assert cut.offset + slope == pytest.approx(
            cut.value, rel=1e-12, abs=1e-12 * (1 + np.abs(cut.coef * s).sum())
        )


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_cut_lies_below_the_risk(name, options, rng):
    for _ in range(15):
        y, qid, scores = sample(name, rng, int(rng.integers(4, 40)))
        bound = risk_of(name, **options).bind(y, qid)
        cut = bound.linearize(scores())
        assert cut.value >= 0 or RISKS[name].task == "one-class"
        squared = name in ("squared-hinge", "survival-squared-hinge") or (
            options["slack_norm"] == 2 and RISKS[name].task == "rank"
        )
        assert cut.offset >= 0 or squared or RISKS[name].task == "regression"
        for _ in range(8):
            other = scores()
            line = cut.offset + np.sum(cut.coef * other)
            assert bound.linearize(other).value >= line - 1e-11 * (
                1 + np.abs(cut.coef * other).sum()
            )


@every_risk
def test_rows_may_be_permuted(name, options, rng):
    for _ in range(8):
        y, qid, scores = sample(name, rng, 30)
        s = scores()
        order = rng.permutation(30)
        if qid is not None:
            order = order[np.argsort(qid[order], kind="stable")]
        risk = risk_of(name, **options)
        value = risk.bind(y, qid).linearize(s).value
        moved = risk.bind(y[order], None if qid is None else qid[order]).linearize(s[order]).value
        assert moved == pytest.approx(value, rel=1e-13, abs=1e-13)


@every_risk
def test_input_may_be_read_only_and_strided(name, options, rng):
    y, qid, scores = sample(name, rng, 20)
    s = scores()
    bound = risk_of(name, **options).bind(y, qid)
    expected = bound.linearize(s)
    frozen = s.copy()
    for array in (y, frozen):
        array.setflags(write=False)
    again = risk_of(name, **options).bind(y, qid).linearize(frozen)
    strided = bound.linearize(np.repeat(s, 2)[::2])
    for cut in (again, strided):
        assert cut.value == expected.value
        assert cut.coef.tobytes() == expected.coef.tobytes()
    expected.coef[:] = 0  # the caller's own


@pytest.mark.every(4)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_threads_leave_no_trace(name, options, rng):
    n = (
        20_000 if options["slack_norm"] == 2 and RISKS[name].task == "rank" else 70_000
    )  # some 20 searches there
    grades = 4 if RISKS[name].place == "places" else 50
    y = (
        rng.integers(0, grades, n).astype(float)
        if RISKS[name].task == "rank"
        else rng.choice([-1.0, 1.0], n)
    )
    qid = (
        np.sort(np.where(rng.random(n) < 0.96, 0, rng.integers(0, 40, n)))
        if RISKS[name].task == "rank"
        else None
    )
    s = np.round(rng.normal(size=n), 3)
    risk = risk_of(name, **options)
    one = risk.bind(y, qid, threads=1).linearize(s)
    for threads in (2, 3, 8):
        bound = risk.bind(y, qid, threads=threads)
        for _ in range(2):
            cut = bound.linearize(s)
            assert (cut.value, cut.offset) == (one.value, one.offset)
            assert cut.coef.tobytes() == one.coef.tobytes()


@pytest.mark.parametrize("name", [name for name, entry in RISKS.items() if entry.task == "rank"])
def test_queries_are_isolated(name, rng):
    for _ in range(10):
        y, qid, scores = sample(name, rng, 40)
        s = scores()
        risk = risk_of(name)
        whole = risk.bind(y, qid).linearize(s)
        s2 = s + 100.0 * rng.normal(size=3)[qid]  # a constant per query changes no pair
        shifted = risk.bind(y, qid).linearize(s2)
        assert shifted.value == pytest.approx(whole.value, rel=1e-9, abs=1e-9)
        assert shifted.offset == pytest.approx(whole.offset)
        for query in np.unique(qid):
            assert whole.coef[qid == query].sum() == pytest.approx(0.0, abs=1e-12)


@every_risk
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class(name, options, sign):
    if RISKS[name].task == "one-class":
        pytest.skip("has no labels")
    y = np.full(812, sign)
    risk = risk_of(name, **options)
    if RISKS[name].of_clicks:  # all are below others, or none is
        assert (risk.bind(y).linearize(np.arange(812.0)).value > 0.0) == (sign > 0)
    elif RISKS[name].task in ("rank", "survival"):
        assert risk.bind(y).linearize(np.arange(812.0)).value == 0.0
    elif name == "zero-one" or RISKS[name].is_sum:
        assert risk.bind(y).linearize(np.zeros(812)).value > 0.0
    else:
        with pytest.raises(TrainingError) as refusal:
            risk.bind(y)
        signed = "+1" if sign > 0 else "-1"
        assert (
            str(refusal.value)
            == f"loss '{name}' needs labels of both signs, but all 812 labels are {signed}"
        )


@every_risk
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_where_it_is_allowed(name, options, sign, rng):
    if RISKS[name].task in ("rank", "survival"):
        pytest.skip("has no classes")
    for trial in range(8):
        n = int(rng.integers(1, 8))
        y = np.full(n, sign)
        bound = risk_of(name, **options, original=True).bind(y)
        s = np.round(rng.normal(size=n) * rng.choice([0.3, 3.0]), 1) * (trial > 0)
        cut = bound.linearize(s)
        pairs_of_both = name in ("roc-area", "partial-auc", "average-precision")
        expected = 0.0 if pairs_of_both else true_value(name, options, bound, s, y, None)
        assert cut.value == pytest.approx(expected, rel=1e-13, abs=1e-13)
        assert cut.offset + np.sum(cut.coef * s) == pytest.approx(cut.value, rel=1e-12, abs=1e-12)
        for _ in range(8):
            other = rng.normal(size=n)
            assert bound.linearize(other).value >= cut.offset + np.sum(cut.coef * other) - 1e-11


@every_risk
def test_start_is_positive_and_perfect_scores_cost_nothing(name, options, rng):
    if RISKS[name].task == "one-class":
        pytest.skip("has no scores that are perfect")
    y, qid, _ = sample(name, rng, 25)
    if RISKS[name].of_clicks:  # of two in a query one is below
        y = np.where(np.arange(25) == np.searchsorted(qid, qid) + 1, 1.0, 0.0)
    bound = risk_of(name, **options).bind(y, qid)
    assert bound.linearize(np.zeros(25)).value > 0.0
    best = {"rank": 1e4 * y, "regression": y, "survival": -1e4 * order_keys(y)[0]}.get(
        RISKS[name].task, 1e4 * np.where(y > 0, 1.0, -1.0)
    )
    perfect = bound.linearize(best)
    assert perfect.value == 0.0
    assert perfect.offset == 0.0
    assert not perfect.coef.any()


@pytest.mark.parametrize(
    "name", [name for name, entry in RISKS.items() if not entry.table or entry.shared]
)
@pytest.mark.parametrize("options", [{"rescaling": "slack"}, {"slack_norm": 2}])
def test_impossible_combinations_are_refused(name, options):
    if options.get("slack_norm", 1) in RISKS[name].norms and "slack_norm" in options:
        return
    with pytest.raises(UsageError, match=f"not implemented for loss '{name}'"):
        check(Settings(task=RISKS[name].task, cost=1.0, loss=name, **options))


@pytest.mark.parametrize(
    ("name", "p"),
    [
        ("prec-at-k", 1.5),
        ("rec-at-k", 0.5),
        ("f1", -1.0),
        ("roc-area", float("nan")),
        ("f1", np.inf),
    ],
)
def test_p_out_of_range_names_the_option(name, p):
    with pytest.raises(UsageError, match=r"^(p=|parameter 'p' is)"):
        check(Settings(task=RISKS[name].task, cost=1.0, loss=name, p=p))


def test_unknown_names():
    for name, value in (("loss", "gini"), ("rescaling", "both"), ("slack_norm", 3)):
        with pytest.raises(UsageError, match=f"^parameter '{name}' is {value!r}; expected"):
            check(Settings(cost=1.0, **{name: value}))


def test_the_registry_imports_nothing():
    code = (
        "import sys, svmcut.risks; print([m for m in sys.modules if m.startswith(('numpy', "
        "'svmcut._native'))])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
