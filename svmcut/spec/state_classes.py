# SPDX-License-Identifier: BSD-3-Clause
"""What the states of trainers are made of beside plain values and arrays; a checkpoint may hold
nothing else."""

from __future__ import annotations

from svmcut.spec.catalog import load

KEPT = (
    "svmcut.training.outcome:Outcome",
    "svmcut.training.outcome:Objective",
    "svmcut.solvers.protocol:Progress",
    "svmcut.solvers.protocol:Unsaved",
    "svmcut.models:LinearModel",
    "svmcut.models:KernelModel",
    "svmcut.models:ChainModel",
    "svmcut.models:KernelChainModel",
    "svmcut.models:ChainShape",
    "svmcut.models:MultilabelModel",
    "svmcut.models:MulticlassModel",
    "svmcut.models:KernelMulticlassModel",
    "svmcut.models:JointKernelModel",
    "svmcut.models:FourierModel",
    "svmcut.models.kernels:Kernel",
    "svmcut.data.examples:Csr",
    "svmcut.data.examples:Names",
    "svmcut.cutting.bundle:Cut",
    "svmcut.risks.protocol:Linearization",
    "svmcut.data.labellings:Labelling",
    "svmcut.risks.sampling:Draw",
    "svmcut.solvers.constant_cuts:Points",
    "svmcut.solvers.sampled_cuts:SampledElement",
    "svmcut.solvers.cutting_plane:Iterate",
    "svmcut.cutting.oracle:Point",
    "svmcut.cutting.oracle:Scored",
    "svmcut.spaces.kernel:Expansion",
    "svmcut.spaces.subspace:Traced",
    "svmcut.spaces.linear:RowNormal",
    "svmcut._native.sparse:Nonzeros",
    "svmcut.distributed.oracle:Carried",
)


def state_classes() -> tuple[type, ...]:
    """The classes, imported now."""
    return tuple(map(load, KEPT))
