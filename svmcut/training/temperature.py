# SPDX-License-Identifier: BSD-3-Clause
"""The temperature of a chain of tags, fitted to sequences that were held out."""

from __future__ import annotations

import numpy as np

from svmcut.errors import TrainingError
from svmcut.models import ChainModel
from svmcut.models.decoding import Held, Lattice, fit_temperature
from svmcut.scoring.probabilities import Skill
from svmcut.spec.records import replace
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.solvers.quick import QuickRun
    from svmcut.training.outcome import Outcome

#: Held out, which are enough for one number, and how closely it is fitted to them.
TOKENS, CLOSELY = 3000, 1e-3


def temper(outcome: Outcome, run: QuickRun, path: str, threads: int) -> None:
    """Gives the model of a run of `quick` a temperature: that of the average of the part, fitted to
    sequences held out, of `TOKENS` tokens at most, over what the last average was multiplied by."""
    watched = run.watched
    sequences = watched.sequences
    enough = max(1, int(np.searchsorted(sequences.indptr, TOKENS, "right")) - 1)
    if enough < len(sequences):
        sequences = sequences.take(np.arange(len(sequences)) < enough)
    weights = np.ones(len(sequences)) if sequences.weights is None else sequences.weights
    model = ChainModel(run.scale * run.seen, watched.shape)
    lattice = Lattice(model, sequences.X, sequences.indptr, threads=threads)
    tempered(outcome, [Held(lattice, sequences.tags, weights)], path, CLOSELY, smooth=True)


def tempered(
    outcome: Outcome, held: list[Held], path: str, tolerance: float = 1e-6, smooth: bool = False
) -> None:
    """Fits the temperature of the model as `fit_temperature` does, and says what its probabilities
    are worth on the same sequences.

    Raises
    ------
    TrainingError
        For scores that are not finite.
    """
    try:
        temperature = fit_temperature(held, tolerance, smooth)
    except ValueError as error:
        raise TrainingError("{}: {}; scale the features", path, error) from None
    model: Any = outcome.model
    outcome.model, skill = replace(model, temperature=temperature), Skill()
    for one in held:
        marginals = one.lattice.sums(temperature, marginals=True)[2]
        assert marginals is not None
        lengths = np.diff(one.lattice.sequences)
        skill.add(marginals, one.tags, np.repeat(one.weights, lengths))
    outcome.details |= skill.values()
