# SPDX-License-Identifier: BSD-3-Clause
"""What the states of trainers are made of beside plain values, arrays and models; a checkpoint may
hold nothing else."""

from __future__ import annotations

from svmcut.spec.catalog import FORMATS, load

KEPT = (
    "svmcut.training.outcome:Outcome",
    "svmcut.training.outcome:Objective",
    "svmcut.solvers.protocol:Progress",
    "svmcut.solvers.protocol:Unsaved",
    "svmcut.models:ChainShape",
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
    """These and the classes of models, imported now."""
    models = dict.fromkeys(name for row in FORMATS for name in row.models)
    return tuple(map(load, (*KEPT, *(f"svmcut.models:{name}" for name in models))))
