# SPDX-License-Identifier: BSD-3-Clause
"""What makes training with a kernel cheaper than n^2 kernel values, as options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svmcut.catalog import AUTO, KERNELS, SOLVERS
from svmcut.parameters import DEFAULTS

if TYPE_CHECKING:  # numpy is not wanted where a command line is read
    from svmcut.kernels import Kernel


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
    budget : int
        Most centres of budgeted training.
    epochs : float or None
        Passes over the examples of stochastic and budgeted trainers; None for the trainer's custom.
    maintenance : {"merge", "project", "remove"} or None
        What becomes of a centre beyond the budget; None by kernel.
    sampling : {"shuffled", "independent", "adaptive"}
        Which example stochastic and budgeted training visit next.
    hold_out : float
        Part of the examples that stochastic and budgeted training keep aside to choose among their states.
    nu : float or None
        Mean slack of the stochastic batch perceptron, at |w| = 1; None to find it from C.
    average : {"suffix", "full"}
        Iterates that are averaged: of the last half, or all.
    """

    sample_size: int = DEFAULTS["sample_size"]
    patience: int = DEFAULTS["patience"]
    basis: int = DEFAULTS["basis"]
    basis_method: int = DEFAULTS["basis_method"]
    basis_file: str | None = DEFAULTS["basis_file"]
    polish: bool = True
    certify: bool | None = DEFAULTS["certify"]
    budget: int = DEFAULTS["budget"]
    epochs: float | None = DEFAULTS["epochs"]
    maintenance: str | None = DEFAULTS["maintenance"]
    sampling: str = DEFAULTS["sampling"]
    hold_out: float = DEFAULTS["hold_out"]
    nu: float | None = DEFAULTS["nu"]
    average: str = DEFAULTS["average"]

    def epochs_for(self, solver: str) -> float:
        """Passes of a solver, its own number where none was given."""
        return SOLVERS[solver].defaults["epochs"] if self.epochs is None else self.epochs

    def maintenance_for(self, kernel: Kernel) -> str:
        """Merging where the kernel allows it; projection needs a positive definite one."""
        if self.maintenance is not None:
            return self.maintenance
        return KERNELS[kernel.name].maintenance[0]


#: Rows up to which "auto" takes smo, and exact cutting planes, whose Gram matrix has n^2 values.
SMO_ROWS, GRAM_ROWS = 50_000, 10_000


def choose_kernel_solver(solver: str, n: int, hinge: bool, free_bias: bool | None = None) -> str:
    """The solver that "auto" stands for with a kernel: exact while n allows it, a subspace beyond.

    Parameters
    ----------
    solver : str
        What was asked for; returned unless it is "auto".
    n : int
        Training rows.
    hinge : bool
        Whether the risk is the plain sum of hinge losses.
    free_bias : bool or None
        True leaves smo only.

    Notes
    -----
    On a 4x4 checkerboard and on adult the subspace of 500 points certified a gap of 0.3 and 0.7 % in less time than the
    sampled cuts took to choose their points for the polish, and ended no higher; so the sampled cuts are never chosen.
    """
    if solver != AUTO:
        return solver
    if hinge and (n <= SMO_ROWS or free_bias):
        return "smo"
    return "cutting-plane" if n <= GRAM_ROWS else "subspace"
