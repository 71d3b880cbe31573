# SPDX-License-Identifier: BSD-3-Clause
"""Names as others spell them, and what a name was meant as."""

import numpy as np
import pytest

import svmcut
from svmcut.spec import catalog
from svmcut.spec.kinds import one_of
from svmcut.spec.spellings import OTHERS, nearest, respelt


def known_names():
    measures = {name.replace("_", "-") for task in catalog.TASKS for name in catalog.measures(task)}
    losses = {loss.name for loss in catalog.LOSSES}
    multiclass = set(catalog.MULTICLASS)
    formats = {"original"}
    return (
        formats
        | {*catalog.KERNELS, *catalog.SOLVERS, *catalog.TASKS}
        | measures
        | losses
        | multiclass
    )


def test_every_spelling_stands_for_a_name_and_is_none():
    for other, names in OTHERS.items():
        assert known_names() & {*names}, other
        assert other == other.lower() and "_" not in other
        assert respelt(other, names) == names[0]


@pytest.mark.parametrize(
    "text, name",
    [
        ("RBF", "rbf"),
        ("poly", "polynomial"),
        ("Squared_Hinge", "squared-hinge"),
        ("hinge", "error-rate"),
        ("roc_auc", "roc-area"),
        ("rbff", "rbff"),
        ("ovr", "ovr"),
    ],
)
def test_a_name_in_other_words(text, name):
    assert respelt(text, ("rbf", "polynomial", "squared-hinge", "error-rate", "roc-area")) == name


def test_a_slip_is_answered_with_the_name_and_a_far_guess_with_none():
    names = ("zero-one", "f1", "squared-hinge")
    assert nearest("squared-hing", names) == "squared-hinge"
    assert nearest("F1", names) == "f1"
    assert nearest("random-forest", names) is None
    kind = one_of(dict.fromkeys(names))
    assert kind.parse("SQUARED_HINGE") == kind.take("squared_hinge") == "squared-hinge"
    with pytest.raises(ValueError, match=r"'zero-on' is unknown; did you mean zero-one\?"):
        kind.parse("zero-on")
    with pytest.raises(ValueError, match=r"'forest' is unknown; expected one of zero-one, f1"):
        kind.parse("forest")


def test_a_slip_in_python_is_answered_with_the_name():
    for words, said in (
        ({"loss": "squared_hing"}, r"'squared_hing'; did you mean 'squared-hinge'\?"),
        ({"solver": "smoo"}, r"'smoo'; did you mean 'smo'\?"),
        ({"kernel": "forest"}, "'forest'; expected one of linear"),
    ):
        with pytest.raises(ValueError, match=f"parameter '{next(iter(words))}' is {said}"):
            svmcut.train((np.eye(2), [-1, 1]), **words)


def test_python_takes_the_spellings_too():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, 1, 1])
    words = dict(example_cost=1.0, seed=0)
    ours = svmcut.train((X, y), loss="squared-hinge", **words).model
    theirs = svmcut.train((X, y), loss="squared_hinge", **words).model
    np.testing.assert_array_equal(ours.w, theirs.w)
    assert svmcut.train((X, y), kernel="RBF", gamma=1.0, **words).model.kernel.name == "rbf"
