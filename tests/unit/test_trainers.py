# SPDX-License-Identifier: BSD-3-Clause
"""Trainers asked for without the command line: what a checkpoint keeps."""

import numpy as np
import pytest

from svmcut.data import Csr, Examples, Source
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.train import Config, state_classes, train


def examples(rng, n=12, queries=False):
    X = Csr.from_dense(rng.standard_normal((n, 3)))
    y = np.where(np.arange(n) % 2 > 0, 1.0, -1.0)
    return Examples(X, y, np.repeat([1, 2], n // 2) if queries else None, None, Source("train.dat"))


def test_a_checkpoint_keeps_an_outcome_without_its_solution(rng, tmp_path):
    outcome = train(examples(rng), Config(cost=1.0))
    path = str(tmp_path / "state")
    write_checkpoint(path, {}, outcome.portable(), state_classes())
    _, found = read_checkpoint(path, state_classes())
    assert found.primal == outcome.primal
    assert found.model.w.tobytes() == outcome.model.w.tobytes()
    with pytest.raises(RuntimeError, match="keeps no solutions"):
        found.progress.solution()
