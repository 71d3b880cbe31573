# SPDX-License-Identifier: BSD-3-Clause
"""The model of an earlier training, to start from: its weights, or its coefficients of rows that
are there yet."""

from __future__ import annotations

import itertools

import numpy as np

from svmcut.errors import UsageError
from svmcut.files.rounding import read_back
from svmcut.messages import Message
from svmcut.models import KernelModel, LinearModel
from svmcut.risks.weights import boxes
from svmcut.spec.catalog import MARKED, TASKS, losses
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Csr
    from svmcut.models.kernels import Kernel
    from svmcut.solvers.smo import KernelProblem
    from svmcut.spec.parameters import Settings


def read_initial(settings: Settings, kernel: Kernel | None = None) -> Any:
    """The model to start from: a LinearModel, or a KernelModel of this kernel.

    Raises
    ------
    ModelError
    UsageError
        Where it is none of this task's, or of another kernel.
    """
    from svmcut.files.models import read_model

    path, task = settings.initial or "", TASKS[settings.task]
    model = read_model(path)
    kind, how = (
        (LinearModel, "without a kernel") if kernel is None else (KernelModel, "with this kernel")
    )
    what = Message(
        "{initial} names {}, which is no {} model",
        path,
        "linear" if kernel is None else kernel.name,
    )
    remedy = f"leave it out or name one that was trained for this task {how}"
    own = set(losses(task.name)) if task.marked else MARKED
    if not isinstance(model, kind) or (model.loss in own) != task.marked:
        raise UsageError("{} of {}; {}", what, task.objects, remedy)
    if isinstance(model, KernelModel) and kernel is not None and not model.kernel.is_same(kernel):
        raise UsageError("{} of these parameters; {}", what, remedy)
    return model


def coefficients(
    model: KernelModel, X: Csr, columns: NDArray | None, problem: KernelProblem, free_bias: bool
) -> NDArray[np.float64]:
    """(n,) those that the rows have in the model, in their boxes, and of sum 0 where the bias is
    free.

    Equal rows share theirs; of two classes a row takes none of the other class. Rows are compared
    by the eight digits that a model file has of a feature.

    Parameters
    ----------
    X, columns
        The rows, and the features their columns stand for; None for all.
    """
    places: dict[bytes, list[int]] = {}
    for row, key in enumerate(_keys(X, columns)):
        places.setdefault(key, []).append(row)
    two, beta = problem.tube is None, np.zeros(X.n_rows)
    for key, alpha in zip(_keys(model.support, model.columns), model.alpha.tolist(), strict=True):
        rows = [row for row in places.get(key, ()) if not two or problem.y[row] * alpha > 0]
        for row in rows:
            beta[row] += alpha / len(rows)
    most = boxes(problem.C, problem.weights)
    np.clip(beta, -most, most, out=beta)
    above, below = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if free_bias and above != below:
        beta[beta > 0 if above > below else beta < 0] *= min(above, below) / max(above, below)
    return beta


def _keys(X: Csr, columns: NDArray | None) -> list[bytes]:
    """What tells the rows of a matrix from each other."""
    own = X.indices[X.stored] if columns is None else columns[X.indices[X.stored]]
    values, bounds = read_back(X.data[X.stored]), (X.indptr - X.indptr[0]).tolist()
    kept = values != 0
    texts = np.empty(len(values), [("column", np.int64), ("value", np.float32)])
    texts["column"], texts["value"] = own, values
    return [texts[a:b][kept[a:b]].tobytes() for a, b in itertools.pairwise(bounds)]
