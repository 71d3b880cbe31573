# SPDX-License-Identifier: BSD-3-Clause
"""Trainers asked for without the command line: tolerances, losses they cannot honour, what a checkpoint keeps."""

import numpy as np
import pytest
from reference.chain import noisy_chains

from svmcut.data import Csr, Examples, MultilabelExamples, Source
from svmcut.errors import UsageError
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.kernels import Kernel
from svmcut.saved import state_classes
from svmcut.train_multilabel import MultilabelTrainer
from svmcut.train_sequences import ChainOrders, SequenceTrainer
from svmcut.training import Config, make_trainer, train


def examples(rng, n=12, queries=False):
    X = Csr.from_dense(rng.standard_normal((n, 3)))
    y = np.where(np.arange(n) % 2 > 0, 1.0, -1.0)
    return Examples(X, y, np.repeat([1, 2], n // 2) if queries else None, None, Source("train.dat"))


def test_no_epsilon_stands_for_the_custom_of_sequences(rng):
    trainer = SequenceTrainer(*noisy_chains(rng, 3, [2, 3, 4]), Config(task="sequence", epsilon=None), ChainOrders())
    assert trainer.objective(1.0, None).epsilon == 0.1


def test_no_epsilon_stands_for_the_custom_of_label_sets(rng):
    X = Csr.from_dense(rng.standard_normal((4, 3)))
    names, indptr = np.array([3, 7]), np.array([0, 1, 2, 3, 4])
    sets = MultilabelExamples(X, names, indptr, np.array([0, 1, 0, 1], np.int32), Source("train.ml"))
    assert MultilabelTrainer(sets, Config(task="multilabel", epsilon=None)).objective(1.0, None).epsilon == 0.1


def test_a_loss_that_does_not_rank_is_refused(rng):
    with pytest.raises(UsageError, match=r"'f1' is not for rankings; expected one of swapped-pairs"):
        make_trainer(examples(rng, queries=True), Config(task="rank", loss="f1"))


@pytest.mark.parametrize("solver", ["bsca", "sampled-cuts", "constant-cuts"])
def test_kernel_solvers_of_sums_refuse_other_losses(rng, solver):
    config = Config(loss="f1", bias=0.0, kernel=Kernel("rbf"), solver=solver, cost=1.0)
    with pytest.raises(UsageError, match=rf"'{solver}'.*use solver='cutting-plane' or 'subspace'"):
        train(examples(rng), config)


def test_a_checkpoint_keeps_an_outcome_without_its_solution(rng, tmp_path):
    outcome = train(examples(rng), Config(cost=1.0))
    path = str(tmp_path / "state")
    write_checkpoint(path, {}, outcome.portable(), state_classes())
    _, found = read_checkpoint(path, state_classes())
    assert found.primal == outcome.primal
    assert found.model.w.tobytes() == outcome.model.w.tobytes()
    with pytest.raises(RuntimeError, match="keeps no solutions"):
        found.progress.solution()
