# SPDX-License-Identifier: BSD-3-Clause
"""Runs of learn on sequences: what differs from other training runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.cli import training_report as report
from svmcut.cli.training import Training, time_limit
from svmcut.config import configure
from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.measures import sequence_measures
from svmcut.train_sequences import ChainOrders, SequenceTrainer

if TYPE_CHECKING:
    from svmcut.data import Sequences
    from svmcut.models import ChainModel
    from svmcut.training import Outcome


class SequenceTraining(Training):
    """Sequences in memory, and the chains trained on them so far."""

    def _read(self):
        options = self.options
        with report.step(self._say, "Reading training examples") as close:
            examples, sequences = read_sequences(
                options.example_file, threads=options.threads, max_memory=options.max_memory
            )
            tags = int(sequences.tags.max()) + 1
            counts = f"{len(sequences)} examples, {len(examples)} tokens, {examples.X.n_features} features"
            close(f" {counts}, {tags} classes... done")
        self._seconds = {"read": time.perf_counter() - self._began, "train": 0.0, "write": 0.0}
        self._config = configure(options.settings(), time_limit=time_limit(options))
        orders = ChainOrders(options.transitions, options.emissions, options.beam)
        self._sequences = [sequences]
        if options.has_kernel:
            from svmcut.train_emissions import EmissionTrainer

            return examples, EmissionTrainer(examples, sequences, self._config, orders.transition, orders.beam)
        return examples, SequenceTrainer(examples, sequences, self._config, orders)

    def _read_validation(self, path: str) -> list[Sequences]:
        return list(stream_sequences(path, threads=self.options.threads))

    def _introduce(self) -> None:
        pass

    def _counts(self) -> dict[str, int]:
        return {"examples": len(self._sequences[0]), "tokens": len(self.examples)}

    def _say_task(self, outcome: Outcome) -> None:
        if self.original:
            # the original times two parts of its search; here they are one, and what is timed is training
            report.out(f"Viterbi timing: CreateTransEmitMatrix={0:f} Viterbi={outcome.seconds:f}")

    def _measure(self, model: ChainModel, examples) -> dict[str, Any]:
        sets = self._sequences if examples is self.examples else examples
        wrong, lengths = [], []
        for sequences in sets:
            tags = model.tags(sequences.X, sequences.indptr, self.options.threads, self.options.beam)
            wrong.append(np.add.reduceat(tags != sequences.tags, sequences.indptr[:-1], dtype=np.int64))
            lengths.append(np.diff(sequences.indptr))
        return sequence_measures(np.concatenate(wrong), np.concatenate(lengths)).as_dict()
