# SPDX-License-Identifier: BSD-3-Clause
import os
import tempfile

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from svmcut.base.errors import ModelError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import KernelModel, LinearModel
from svmcut.models.kernels import KERNELS, Kernel

finite = st.floats(allow_nan=False, allow_infinity=False)
finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
columns = st.one_of(st.integers(0, 30), st.integers(0, 2**31 - 3))
rows = st.lists(st.dictionaries(columns, finite32, max_size=6), max_size=5)


def csr(rows):
    entries = [sorted(row.items()) for row in rows]
    flat = [entry for row in entries for entry in row]
    indices = np.array([c for c, _ in flat], np.int32)
    indptr = np.cumsum([0] + [len(row) for row in entries])
    return Csr(
        np.array([v for _, v in flat], np.float32),
        indices,
        indptr,
        int(indices.max(initial=-1)) + 1,
    )


@st.composite
def kernels(draw):
    numbers = [draw(finite) for _ in range(3)]
    text = draw(st.text(st.characters(codec="utf-8", exclude_characters="#\r\n"), max_size=8))
    return Kernel(draw(st.sampled_from(KERNELS[1:])), draw(st.integers(-9, 9)), *numbers, text)


@st.composite
def models(draw):
    header = {
        "highest_index": draw(st.none() | st.integers(0, 2**31 - 1)),
        "n_documents": draw(st.integers(0, 2**31)),
    }
    b = draw(finite)
    if draw(st.booleans()):
        return LinearModel(np.array(draw(st.lists(finite32, max_size=8)), float), b, **header)
    support = csr(draw(rows))
    alpha = np.array(
        draw(st.lists(finite, min_size=support.n_rows, max_size=support.n_rows)), float
    )
    return KernelModel(draw(kernels()), support, alpha, b, **header)


def written(model, folder):
    path = os.path.join(folder, "model")
    write_model(path, model)
    with open(path, "rb") as file:
        return path, file.read()


@given(models())
def test_text_of_what_was_read_is_the_same_text(model):
    with tempfile.TemporaryDirectory() as folder:
        path, text = written(model, folder)
        assert written(read_model(path), folder)[1] == text


@given(models())
def test_alpha_survives_to_the_bit(model):
    with tempfile.TemporaryDirectory() as folder:
        again = read_model(written(model, folder)[0])
        assert type(again) is type(model)
        if isinstance(model, KernelModel):
            assert again.alpha.tobytes() == model.alpha.tobytes()


@given(models(), st.data())
def test_a_model_cut_anywhere_is_refused(model, data):
    with tempfile.TemporaryDirectory() as folder:
        path, text = written(model, folder)
        end = data.draw(st.integers(0, len(text) - 1))
        assume(not text.startswith(b"#@ crc32", end))  # without its last line it is an older model
        with open(path, "wb") as file:
            file.write(text[:end])
        try:
            read_model(path)
        except ModelError:
            return
        raise AssertionError("a truncated model was read")


@given(models(), st.integers(0), st.binary(min_size=1, max_size=3))
def test_damage_is_read_or_refused_and_nothing_else(model, at, noise):
    with tempfile.TemporaryDirectory() as folder:
        path, text = written(model, folder)
        at %= len(text)
        with open(path, "wb") as file:
            file.write(text[:at] + noise + text[at + len(noise) :])
        try:
            read_model(path)
        except ModelError as error:
            assert error.path == path
