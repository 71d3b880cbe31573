# SPDX-License-Identifier: BSD-3-Clause
"""Model files of chains with a kernel: they go round unchanged, and what is wrong in one is named
with its place."""

import numpy as np
import pytest
from programs import uncertified
from refusals import check_beginnings, refused

from svmcut.base.errors import ModelError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import ChainShape, KernelChainModel
from svmcut.models.kernels import KERNELS, Kernel

TEXT = (
    "svmcut kernel chain model 1\n"
    "2 # kernel type\n"
    "3 # kernel parameter -d \n"
    "0.25 # kernel parameter -g \n"
    "1 # kernel parameter -s \n"
    "1 # kernel parameter -r \n"
    "empty# kernel parameter -u \n"
    "6 # highest index\n"
    "4 # number of emission features\n"
    "3 # number of support tokens plus 1\n"
    "2 # number of classes\n"
    "1 # order of transitions; they follow, then the support tokens\n"
    "1 3:0.5 6:-0.25 #\n"
    "1 1:1 2:-1 3:0.5 6:2 #\n"
    "1 2:0.125 4:1 #\n"
)


def model_of(rng, K, order, columns=None, m=7, d=3):
    shape = ChainShape(K, d, order)
    transitions = np.zeros(shape.transitions)
    transitions.reshape(-1, shape.stride)[:, :K] = rng.normal(
        size=(shape.transitions // shape.stride, K)
    )
    transitions[rng.random(len(transitions)) < 0.3] = 0
    alpha = rng.normal(size=(m, K)) * (rng.random((m, K)) < 0.7)
    support = Csr.from_dense(rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.7))
    kernel = Kernel(KERNELS[K % 4], 2, 0.3, 0.7, 1.5)
    return KernelChainModel(kernel, support, alpha, transitions, shape, columns)


@pytest.mark.parametrize("columns", [None, [0, 3, 40_000_000]])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_models_go_round(tmp_path, rng, K, order, columns):
    model = model_of(rng, K, order, None if columns is None else np.array(columns, np.int32))
    write_model(str(tmp_path / "a"), model)
    again = read_model(str(tmp_path / "a"))
    write_model(str(tmp_path / "b"), again)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert again.kernel == model.kernel
    assert again.alpha == pytest.approx(model.alpha, rel=1e-6)
    assert again.transitions == pytest.approx(model.transitions, rel=1e-6)
    X = Csr.from_dense(rng.normal(size=(9, 5)))
    assert again.node_scores(X) == pytest.approx(model.node_scores(X), rel=1e-4, abs=1e-4)
    if columns is not None:
        assert again.highest_feature == 40_000_001


def test_a_model_is_read_as_written_by_hand(tmp_path):
    (tmp_path / "m").write_text(TEXT)
    model = read_model(str(tmp_path / "m"))
    assert model.kernel == Kernel("rbf", gamma=0.25)
    assert model.shape == ChainShape(2, 4, 1)
    assert model.alpha.tolist() == [[1, -1], [0, 0.125]]
    assert model.support.to_dense().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0]]
    assert model.transitions.reshape(2, -1)[:, :2].tolist() == [[0.5, 0], [0, -0.25]]
    write_model(str(tmp_path / "again"), model)
    assert uncertified(tmp_path / "again").decode() == TEXT


FAULTS = [
    ("2 # kernel type", "9 # kernel type", ':2:1: kernel type "9" is unknown'),
    ("6 # highest", "x # highest", ':8:1: "x" is refused; expected the highest index'),
    (
        "4 # number",
        "-4 # number",
        ':9:1: "-4" is refused; expected the number of emission features',
    ),
    (
        "3 # number",
        "0 # number",
        ':10:1: "0" is refused; expected the number of support tokens plus 1',
    ),
    ("2 # number", "0 # number", ':11:1: "0" is refused; expected the number of classes'),
    (
        "2 # number of c",
        "900000 # number of c",
        ":11:1: 900000 tags are more than a file of this size describes",
    ),
    ("1 # order", "4 # order", ':12:1: "4" is refused; expected the order of transitions'),
    ("3:0.5 6:-0.25", "2:0.5 6:-0.25", ":13:1: index 2 is no transition of such a model"),
    ("1 3:0.5 6:-", "1 3:0.5 7:-", ":13:"),
    ("6:2 #", "7:2 #", ":14:"),
    ("6:2 #", "6:inf #", ":14:"),
    ("2:0.125 4:1", "4:1 2:0.125", ":15:"),
    (
        "4 # number of e",
        "3 # number of e",
        ":14:1: index 6 is neither a tag nor a feature of such a model",
    ),
    ("1 2:0.125 4:1 #\n", "", ": the file ends before its last support vector"),
    ("4:1 #\n", "4:1 #\n1 1:1 #\n", ":16:1: more lines than line 10 announces"),
    ("1 2:0.125", "1e300 2:1e30", "a line's factor makes weights that are not finite"),
]


@pytest.mark.parametrize("old, new, message", FAULTS)
def test_faults_are_named_with_their_place(tmp_path, old, new, message):
    said = refused(tmp_path / "m", TEXT, old, new)
    assert message in said and said.startswith(str(tmp_path / "m"))


def test_a_model_cut_short_anywhere_is_refused(tmp_path):
    check_beginnings(tmp_path / "m", TEXT, len(TEXT) - 1)


def test_weights_that_are_not_finite_are_not_written(tmp_path, rng):
    model = model_of(rng, 2, 1)
    model.alpha[0, 0] = 1e300
    with pytest.raises(ModelError, match="not finite in float32"):
        write_model(str(tmp_path / "m"), model)
    assert not (tmp_path / "m").exists()
