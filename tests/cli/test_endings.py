# SPDX-License-Identifier: BSD-3-Clause
"""Problems that rounding or a huge C makes hopeless: every run ends, and what it says of its model is true."""

import resource

import numpy as np
import pytest
from programs import run

from svmcut.data import Csr, Examples, Sequences, Source
from svmcut.train import Config
from svmcut.train_sequences import ChainOrders, SequenceTrainer

SECONDS = 20  # of CPU


@pytest.mark.parametrize("solver", ["gdmm", "soft-bcfw"])
@pytest.mark.parametrize("indptr", [(0, 1, 2), (0, 2)], ids=["alone", "together"])
def test_tiny_features_leave_bounds_that_are_bounds(solver, indptr):
    """Steps of 1e12 times C left the simplex by more than the answer."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        csr = Csr.from_dense(rng.normal(size=(2, 3)) * 10 ** rng.uniform(-14, -8))
        tags, parts = rng.integers(0, 3, 2).astype(np.int32), np.array(indptr, np.int64)
        examples = Examples(csr, tags + 1.0, np.repeat(np.arange(len(parts) - 1), np.diff(parts)), None, Source("x"))
        config = Config(solver=solver, gap=1e-3, bias=0.0, max_iterations=100)
        trainer = SequenceTrainer(examples, Sequences(csr, parts, tags), config, ChainOrders())
        outcome = trainer.fit(None, 10 ** rng.uniform(-2, 6))
        assert outcome.dual <= outcome.primal * (1 + 1e-9), seed


def test_a_row_of_many_labels(tmp_path):
    """Pairs were searched one by one for each that entered: a minute a pass at 2,000 labels."""
    (tmp_path / "train").write_text(",".join(map(str, range(0, 1200, 2))) + " 1:1 2:0.5\n3 1:1\n")
    words = ("--task", "multilabel", "--solver", "gdmm", "-c", "1", "train", "model")

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    assert run("svmcut learn", *words, cwd=tmp_path, preexec_fn=limit).returncode == 0
