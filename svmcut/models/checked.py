# SPDX-License-Identifier: BSD-3-Clause
"""What a model read from a checkpoint must look like: it is written to a file and scores
examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcut.data.examples import Names
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
from svmcut.spec import schemas

if TYPE_CHECKING:
    from svmcut.models import ChainShape, Model


def check_model(model: Model, n_features: int = 2**31 - 1) -> None:
    """Refuses arrays of a model that do not fit together, or columns beyond the features of the
    data.

    Raises
    ------
    StateError
    """
    reals = schemas.reals
    if isinstance(model, LinearModel):
        d, kind = len(model.w), schemas.fields(w=reals(None), b=schemas.REAL)
    elif isinstance(model, KernelModel):
        m, d = model.support.n_rows, model.support.n_features
        kind = schemas.fields(alpha=reals(m), b=schemas.REAL)
    elif isinstance(model, FourierModel):
        omega = schemas.array(np.float32, None, None)
        schemas.checked(model, schemas.fields(omega=omega), "model")
        D, d = model.omega.shape
        kind = schemas.fields(
            w=reals(2 * D), gamma=schemas.REAL, seed=schemas.COUNT, b=schemas.REAL
        )
    elif isinstance(model, ChainModel):
        _check_shape(model.shape)
        d = model.shape.n_features
        kind = schemas.fields(w=reals(model.shape.dim), loss=schemas.count(0, 1))
    elif isinstance(model, KernelChainModel):
        _check_shape(model.shape)
        d, shape = model.support.n_features, model.shape
        alpha = reals(model.support.n_rows, shape.n_tags)
        kind = schemas.fields(alpha=alpha, transitions=reals(shape.transitions))
    elif isinstance(model, MulticlassModel):
        schemas.checked(
            model, schemas.fields(names=schemas.array(np.float64, None, rising=True)), "model"
        )
        d, K = len(model.W), len(model.names)
        kind = schemas.fields(
            W=reals(d, K),
            constant=reals(K),
            bias=schemas.REAL,
            highest_index=schemas.COUNT,
            loss=schemas.maybe(schemas.text()),
            temperature=schemas.maybe(schemas.real(0)),
        )
    elif isinstance(model, KernelMulticlassModel):
        d, kind = model.support.n_features, _check_machines(model)
    else:
        names = schemas.array(np.int64, None, rising=True)
        schemas.checked(model, schemas.instance(MultilabelModel, names=names), "model")
        K, P = len(model.names), len(model.v)
        d, places = len(model.W), schemas.array(np.int32, P, low=0, high=K - 1)
        kind = schemas.fields(
            W=reals(d, K), constant=reals(K), first=places, second=places, v=reals(P)
        )
    schemas.checked(model, kind, "model")
    if isinstance(model, LinearModel | KernelModel | FourierModel):
        labels = schemas.maybe(schemas.row(schemas.maybe(schemas.REAL), schemas.REAL))
        loss = schemas.maybe(schemas.text())
        sigmoid = schemas.maybe(schemas.row(schemas.REAL, schemas.REAL))
        schemas.checked(model, schemas.fields(labels=labels, loss=loss, sigmoid=sigmoid), "model")
    if isinstance(model, ChainModel | KernelChainModel):
        texts = schemas.many(schemas.text())
        names = schemas.maybe(schemas.instance(Names, tags=texts, attributes=texts))
        schemas.checked(model, schemas.fields(names=names), "model")
    columns = schemas.array(np.int32, d, low=0, high=n_features - 1, rising=True)
    schemas.checked(model, schemas.fields(columns=schemas.maybe(columns)), "model")


def _check_machines(model: KernelMulticlassModel) -> schemas.Check:
    """What the fields of machines must be, whose lengths are looked at here."""
    schemas.checked(
        model,
        schemas.fields(names=schemas.array(np.float64, None, rising=True), paired=schemas.flag),
        "model",
    )
    K, E = len(model.names), len(model.alpha)
    M = K * (K - 1) // 2 if model.paired else K
    starts = schemas.array(np.int64, M + 1, low=0, high=E)
    schemas.checked(model, schemas.fields(starts=starts), "model")
    rises = model.starts[0] == 0 and model.starts[-1] == E and (np.diff(model.starts) >= 0).all()
    schemas.require(
        bool(rises), "model.starts", "from 0 to the number of coefficients, never falling"
    )
    places = schemas.array(np.int32, E, low=0, high=model.support.n_rows - 1)
    sigmoids = schemas.maybe(schemas.many(schemas.row(schemas.REAL, schemas.REAL), M, M))
    return schemas.fields(
        places=places,
        alpha=schemas.reals(E),
        b=schemas.reals(M),
        highest_index=schemas.COUNT,
        loss=schemas.maybe(schemas.text()),
        sigmoids=sigmoids,
        temperature=schemas.maybe(schemas.real(0)),
    )


def _check_shape(shape: ChainShape) -> None:
    """Refuses a layout no chain has."""
    schemas.checked(
        shape,
        schemas.fields(
            n_tags=schemas.count(1, 2**31 - 1),
            n_features=schemas.count(0, 2**31 - 1),
            transition_order=schemas.count(0, 3),
            emission_order=schemas.count(0, 1),
        ),
        "shape",
    )
