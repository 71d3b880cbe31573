# SPDX-License-Identifier: BSD-3-Clause
"""What a model read from a checkpoint must look like: it is written to a file and scores examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcut import states
from svmcut.data import Names
from svmcut.models import (
    ChainModel,
    FourierModel,
    KernelChainModel,
    KernelModel,
    KernelMulticlassModel,
    LinearModel,
    MulticlassModel,
    MultilabelModel,
)

if TYPE_CHECKING:
    from svmcut.models import ChainShape, Model


def check_model(model: Model, n_features: int = 2**31 - 1) -> None:
    """Refuses arrays of a model that do not fit together, or columns beyond the features of the data.

    Raises
    ------
    StateError
    """
    reals = states.reals
    if isinstance(model, LinearModel):
        d, kind = len(model.w), states.fields(w=reals(None), b=states.REAL)
    elif isinstance(model, KernelModel):
        m, d = model.support.n_rows, model.support.n_features
        kind = states.fields(alpha=reals(m), b=states.REAL)
    elif isinstance(model, FourierModel):
        omega = states.array(np.float32, None, None)
        states.checked(model, states.fields(omega=omega), "model")
        D, d = model.omega.shape
        kind = states.fields(w=reals(2 * D), gamma=states.REAL, seed=states.COUNT, b=states.REAL)
    elif isinstance(model, ChainModel):
        _check_shape(model.shape)
        d, kind = model.shape.n_features, states.fields(w=reals(model.shape.dim), loss=states.count(0, 1))
    elif isinstance(model, KernelChainModel):
        _check_shape(model.shape)
        d, shape = model.support.n_features, model.shape
        alpha = reals(model.support.n_rows, shape.n_tags)
        kind = states.fields(alpha=alpha, transitions=reals(shape.transitions))
    elif isinstance(model, MulticlassModel):
        states.checked(model, states.fields(names=states.array(np.float64, None, rising=True)), "model")
        d, K = len(model.W), len(model.names)
        kind = states.fields(
            W=reals(d, K), constant=reals(K), bias=states.REAL, highest_index=states.COUNT,
            loss=states.maybe(states.text()), temperature=states.maybe(states.real(0)),
        )  # fmt: skip
    elif isinstance(model, KernelMulticlassModel):
        d, kind = model.support.n_features, _check_machines(model)
    else:
        names = states.array(np.int64, None, rising=True)
        states.checked(model, states.instance(MultilabelModel, names=names), "model")
        K, P = len(model.names), len(model.v)
        d, places = len(model.W), states.array(np.int32, P, low=0, high=K - 1)
        kind = states.fields(W=reals(d, K), constant=reals(K), first=places, second=places, v=reals(P))
    states.checked(model, kind, "model")
    if isinstance(model, LinearModel | KernelModel | FourierModel):
        labels = states.maybe(states.row(states.maybe(states.REAL), states.REAL))
        loss, sigmoid = states.maybe(states.text()), states.maybe(states.row(states.REAL, states.REAL))
        states.checked(model, states.fields(labels=labels, loss=loss, sigmoid=sigmoid), "model")
    if isinstance(model, ChainModel | KernelChainModel):
        texts = states.many(states.text())
        names = states.maybe(states.instance(Names, tags=texts, attributes=texts))
        states.checked(model, states.fields(names=names), "model")
    columns = states.array(np.int32, d, low=0, high=n_features - 1, rising=True)
    states.checked(model, states.fields(columns=states.maybe(columns)), "model")


def _check_machines(model: KernelMulticlassModel) -> states.Check:
    """What the fields of machines must be, whose lengths are looked at here."""
    states.checked(model, states.fields(names=states.array(np.float64, None, rising=True), paired=states.flag), "model")
    K, E = len(model.names), len(model.alpha)
    M = K * (K - 1) // 2 if model.paired else K
    starts = states.array(np.int64, M + 1, low=0, high=E)
    states.checked(model, states.fields(starts=starts), "model")
    rises = model.starts[0] == 0 and model.starts[-1] == E and (np.diff(model.starts) >= 0).all()
    states.require(bool(rises), "model.starts", "from 0 to the number of coefficients, never falling")
    places = states.array(np.int32, E, low=0, high=model.support.n_rows - 1)
    sigmoids = states.maybe(states.many(states.row(states.REAL, states.REAL), M, M))
    return states.fields(
        places=places, alpha=states.reals(E), b=states.reals(M), highest_index=states.COUNT,
        loss=states.maybe(states.text()), sigmoids=sigmoids, temperature=states.maybe(states.real(0)),
    )  # fmt: skip


def _check_shape(shape: ChainShape) -> None:
    """Refuses a layout no chain has."""
    states.checked(shape, states.fields(
        n_tags=states.count(1, 2**31 - 1), n_features=states.count(0, 2**31 - 1), transition_order=states.count(0, 3),
        emission_order=states.count(0, 1),
    ), "shape")  # fmt: skip
