# SPDX-License-Identifier: BSD-3-Clause
"""Kernels K(x, z) with the parameters svm_light gives them, and sums over support vectors."""

from __future__ import annotations

from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.spec import catalog

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr
    from svmcut.spec.entries import KernelRow

#: Names of those that are functions of rows.
KERNELS = tuple(name for name, row in catalog.KERNELS.items() if not row.given)
_DEFAULTS = catalog.KERNEL_DEFAULTS


@record
class Kernel:
    """One kernel with all of svm_light's parameters; a model file holds them whether the kernel
    uses them or not.

    Attributes
    ----------
    name : str
        ``linear`` x.z, ``polynomial`` (scale x.z + offset)^degree, ``rbf`` exp(-gamma |x - z|^2),
        ``sigmoid`` tanh(scale x.z + offset); ``precomputed``, whose values are the features of x:
        support vectors name them by a 1.
    degree : int
        ``-d``.
    gamma, scale, offset : float
        ``-g``, ``-s``, ``-r``.
    text : str
        ``-u``, the text of a user's own kernel; no kernel here reads it.
    """

    name: str = "linear"
    degree: int = _DEFAULTS["degree"]
    gamma: float = _DEFAULTS["gamma"]
    scale: float = _DEFAULTS["scale_kernel"]
    offset: float = _DEFAULTS["coef0"]
    text: str = _DEFAULTS["u"]

    def __post_init__(self) -> None:
        if self.name not in catalog.KERNELS:
            raise ValueError(
                f"kernel {self.name!r} is unknown; expected one of {', '.join(KERNELS)}"
            )

    @property
    def row(self) -> KernelRow:
        """That of the catalog."""
        return catalog.KERNELS[self.name]

    @property
    def number(self) -> int:
        """svm_light's ``-t``, and what model files have."""
        return self.row.number

    @property
    def parameters(self) -> dict[str, Any]:
        """Those it reads, by the names of `svmcut.train`."""
        names = {"scale_kernel": "scale", "coef0": "offset"}
        return {name: getattr(self, names.get(name, name)) for name in self.row.takes}

    def is_same(self, other: Kernel) -> bool:
        """Whether another is this one, up to the digits of a model file."""
        import numpy as np

        ours, others = ([*kernel.parameters.values()] for kernel in (self, other))
        return self.name == other.name and np.allclose(ours, others, rtol=1e-7, atol=0)

    @property
    def is_given(self) -> bool:
        """Whether its values are those of the examples."""
        return self.row.given

    @property
    def is_linear(self) -> bool:
        return self.name == "linear"

    @property
    def is_definite(self) -> bool:
        """Whether every matrix of its values is known to be positive semidefinite; a dual value
        bounds nothing else."""
        return catalog.is_definite(self.name, self.degree, self.gamma, self.scale, self.offset)

    def values(self, products: NDArray, distances: NDArray) -> NDArray[np.float64]:
        """K(x, z) of pairs of rows, from the definition.

        Parameters
        ----------
        products, distances : (...) float64
            x.z and |x - z|^2; one of the two is read.
        """
        form = catalog.load(self.row.where)
        return form.values(self, distances if self.row.of_distances else products)

    def own_values(self, squared: NDArray) -> NDArray[np.float64]:
        """(n,) K(x, x) of rows with these |x|^2."""
        import numpy as np

        return self.values(squared, np.zeros(len(squared)))

    def expansion(
        self, X: Csr, support: Csr, alpha: NDArray, b: float = 0.0, threads: int = 1
    ) -> NDArray:
        """f(x_i) = sum_k alpha_k K(z_k, x_i) - b for every row of X.

        Parameters
        ----------
        X : Csr
            (n, d') rows. Features the support vectors do not have count in the distance of the rbf
            kernel only.
        support : Csr
            (m, d) support vectors z.
        alpha : (m,) float64
        b : float
            Threshold, subtracted.
        threads : int
            The result has the same bytes for any number.

        Returns
        -------
        (n,) float64

        Raises
        ------
        MemoryError
            When O(nnz(support) + d + m threads) more memory is not there.

        Notes
        -----
        O(sum over the features of each x of the support vectors that have the feature + n m) time;
        nothing of size n m is held. Sums run in float64, over features and support vectors in their
        order.
        """
        import numpy as np

        from svmcut._native.kernels import kernel_scores

        out = np.empty(X.n_rows, np.float64)
        kernel_scores(X, support, alpha, self, b, threads, out)
        return out
