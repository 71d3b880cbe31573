# SPDX-License-Identifier: BSD-3-Clause
"""Which classes a checkpoint may name."""

from __future__ import annotations


def state_classes() -> tuple[type, ...]:
    """What the states of trainers are made of beside plain values and arrays."""
    from svmcut._native.sparse import Nonzeros
    from svmcut.cutting.bundle import Cut
    from svmcut.cutting.oracle import Point, Scored
    from svmcut.data import Csr, Labelling
    from svmcut.kernels import Kernel
    from svmcut.models import ChainModel, ChainShape, KernelChainModel, KernelModel, LinearModel, MultilabelModel
    from svmcut.outcomes import Objective, Outcome
    from svmcut.risks.protocol import Linearization
    from svmcut.risks.sampling import Draw
    from svmcut.solvers.constant_cuts import Points
    from svmcut.solvers.cutting_plane import Iterate
    from svmcut.solvers.newton import Smoothed
    from svmcut.solvers.protocol import Progress, Unsaved
    from svmcut.solvers.sampled_cuts import SampledElement
    from svmcut.spaces.kernel import Expansion
    from svmcut.spaces.linear import RowNormal
    from svmcut.spaces.subspace import Traced

    chains = (ChainModel, KernelChainModel, ChainShape)
    own = (Outcome, Objective, Progress, Unsaved, LinearModel, KernelModel, *chains, MultilabelModel, Kernel, Csr)
    cuts = (Cut, Linearization, Labelling, Draw, Points, SampledElement, Iterate, Point, Scored)
    return (*own, *cuts, Expansion, Traced, RowNormal, Nonzeros, Smoothed)
