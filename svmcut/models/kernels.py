# SPDX-License-Identifier: BSD-3-Clause
"""Kernels K(x, z) with the parameters svm_light gives them, and sums over support vectors."""

from __future__ import annotations

from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.spec import catalog
from svmcut.spec.kinds import GAMMAS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr
    from svmcut.spec.entries import KernelRow

#: Names of the kernels that are functions of rows.
KERNELS = tuple(name for name, row in catalog.KERNELS.items() if not row.given)
_DEFAULTS = catalog.KERNEL_DEFAULTS


@record
class Kernel:
    """One kernel with all of svm_light's parameters; a model file holds them whether the kernel
    uses them or not."""

    #: ``linear`` x.z, ``polynomial`` (scale x.z + offset)^degree, ``rbf`` exp(-gamma |x - z|^2),
    #: ``sigmoid`` tanh(scale x.z + offset); ``precomputed``, whose values are the features of x:
    #: support vectors name them by a 1.
    name: str = "linear"
    #: ``-d``.
    degree: int = _DEFAULTS["degree"]
    #: ``-g``.
    gamma: float = _DEFAULTS["gamma"]
    #: ``-s``.
    scale: float = _DEFAULTS["scale_kernel"]
    #: ``-r``.
    offset: float = _DEFAULTS["coef0"]
    #: ``-u``, the text of a user's own kernel; no kernel here reads it.
    text: str = _DEFAULTS["u"]

    def __post_init__(self) -> None:
        if self.name not in catalog.KERNELS:
            raise ValueError(
                f"kernel {self.name!r} is unknown; expected one of {', '.join(KERNELS)}"
            )

    @property
    def row(self) -> KernelRow:
        return catalog.KERNELS[self.name]

    @property
    def number(self) -> int:
        """svm_light's ``-t``, as in model files."""
        return self.row.number

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters that the kernel reads, by the names of `svmcut.train`."""
        names = {"scale_kernel": "scale", "coef0": "offset"}
        return {name: getattr(self, names.get(name, name)) for name in self.row.takes}

    def is_same(self, other: Kernel) -> bool:
        """True if another kernel equals this one, up to the digits of a model file."""
        import numpy as np

        ours, others = ([*kernel.parameters.values()] for kernel in (self, other))
        return self.name == other.name and np.allclose(ours, others, rtol=1e-7, atol=0)

    @property
    def is_given(self) -> bool:
        """True if the kernel values are those of the examples."""
        return self.row.given

    @property
    def is_linear(self) -> bool:
        return self.name == "linear"

    @property
    def is_definite(self) -> bool:
        """True if every matrix of its values is known to be positive semidefinite; else a dual
        value bounds nothing."""
        return catalog.is_definite(self.name, self.degree, self.gamma, self.scale, self.offset)

    def values(self, products: NDArray, distances: NDArray) -> NDArray[np.float64]:
        """K(x, z) of pairs of rows, from the definition; reads either the products x.z or the
        squared distances |x - z|^2."""
        form = catalog.load(self.row.where)
        return form.values(self, distances if self.row.of_distances else products)

    def own_values(self, squared: NDArray) -> NDArray[np.float64]:
        import numpy as np

        return self.values(squared, np.zeros(len(squared)))

    def expansion(
        self, X: Csr, support: Csr, alpha: NDArray, b: float = 0.0, threads: int = 1
    ) -> NDArray:
        """(n,) f(x_i) = sum_k alpha_k K(z_k, x_i) - b for every row of X (n, d'), with support
        vectors z (m, d); the same bytes for any number of threads.

        Features that the support vectors do not have count in the distance of the rbf kernel only.
        Sums run in float64, over features and support vectors in their order. Time is O(sum over
        the features of each x of the support vectors that have the feature + n m); memory
        O(nnz(support) + d + m threads), or a MemoryError.
        """
        import numpy as np

        from svmcut._native.kernels import kernel_scores

        out = np.empty(X.n_rows, np.float64)
        kernel_scores(X, support, alpha, self, b, threads, out)
        return out


def resolve_gamma(gamma: Any, X: Csr, values: NDArray | None = None) -> Any:
    """Return 1 / (d variance of all values of X) for "scale", 1 / d for "auto", as scikit-learn
    does, else the given number.

    If X has a variance of 0, gamma is 1. `values` are the nonzero values of X in higher precision;
    None for its own.
    """
    import numpy as np

    scale, auto = GAMMAS
    d = max(X.n_features, 1)
    if gamma == auto:
        return 1.0 / d
    if gamma != scale:
        return gamma
    values = X.data[X.stored] if values is None else values
    values, size = values[values != 0].astype(np.float64), max(X.n_rows * d, 1)
    mean = values.sum() / size
    variance = float((np.square(values - mean).sum() + (size - len(values)) * mean**2) / size)
    return 1.0 / (d * variance) if variance > 0 else 1.0
