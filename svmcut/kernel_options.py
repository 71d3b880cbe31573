# SPDX-License-Identifier: BSD-3-Clause
"""What makes training with a kernel cheaper than n^2 kernel values, as options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """One field an option, in the options' units.

    Attributes
    ----------
    sample_size, patience : int
        r of the sampled cuts; p, the samples in a row that must find no violation, of the constant-time ones.
    basis : int
        Most basis vectors of subspace training and of the polish.
    basis_method : int
        svm_perf's --t: 1 takes evenly spaced rows, 2 incomplete Cholesky, 0 leaves the choice to the trainer.
    basis_file : str or None
        Example file whose rows span the subspace instead of training rows.
    polish : bool
        Exact training in the span of the points a sampling trainer chose.
    certify : bool or None
        Whether a dual bound of the full problem is computed where it costs kernel values of its own; None by size.
    """

    sample_size: int = 400
    patience: int = 5
    basis: int = 500
    basis_method: int = 0
    basis_file: str | None = None
    polish: bool = True
    certify: bool | None = None
