# SPDX-License-Identifier: BSD-3-Clause
"""The base class of models: fields, checks and facts that all have, and columns in a model's own
numbering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.data.examples import Csr
from svmcut.spec import schemas

if TYPE_CHECKING:
    from svmcut.models.kernels import Kernel
    from svmcut.scoring.conformal import Coverage
    from svmcut.tables.encoding import Encoding


MAX_FEATURES = 2**31 - 1
#: Gap, radius of the ball of the exact optimum, constant feature; see svmcut.training.certificate.
CERTIFICATE = schemas.maybe(schemas.row(schemas.REAL, schemas.REAL, schemas.REAL))
#: The same with the radius of every machine, where each is trained by itself.
CERTIFICATES = schemas.maybe(schemas.many(schemas.REAL, 3))
#: C of an example that weighs 1, for which the certificate holds.
COST = schemas.maybe(schemas.real(0))
#: C of a row that weighs 1, keys of rows (svmcut.data.changes), their multipliers as parts of C.
MULTIPLIERS = schemas.maybe(
    schemas.row(schemas.real(0), schemas.array("int64", None), schemas.reals(None, low=0))
)


def certificate_facts(certificate: tuple[float, ...] | None, cost: float | None) -> dict[str, Any]:
    """Facts of a model's certificate and of its C; {} if it has none."""
    if certificate is None:
        return {}
    ball: dict[str, Any] = dict(zip(("gap", "radius", "bias"), certificate[:3], strict=True))
    ball |= {} if cost is None else {"cost": cost}
    return {"ball": ball | ({"radii": list(certificate[3:])} if certificate[3:] else {})}


class BaseModel:
    """A function of rows, or of sequences of rows; a record, whose fields a file holds."""

    __slots__ = ()

    #: True for tags of sequences, without scores of a row.
    of_sequences: ClassVar[bool] = False
    #: True if the objective regularises these weights, so that a gap bounds their distance to the
    #: optimum's.
    has_ball: ClassVar[bool] = False
    #: True for predicted sets of labels.
    of_sets: ClassVar[bool] = False
    #: (d,) int32 increasing columns of the data that the model's features are; None for 0 to d - 1.
    columns: NDArray[np.int32] | None
    #: Encoding of the table it was trained on.
    table: Encoding | None = None
    #: Promised coverage of its intervals or sets of labels; see svmcut.scoring.conformal.
    coverage: Coverage | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Words that stand for the labels 1, 2, ...; () if labels are numbers."""
        return () if self.table is None else self.table.words

    @property
    def n_radii(self) -> int:
        """Number of machines that may have their own radius in the certificate."""
        return 0

    @property
    def n_features(self) -> int:
        """d, in its own numbering."""
        raise NotImplementedError

    @property
    def least_columns(self) -> int:
        """Smallest number of columns of its data."""
        if self.columns is None:
            return self.n_features
        return int(self.columns[-1]) + 1 if len(self.columns) else 0

    def form(self) -> dict[str, schemas.Check]:
        """Schema of the fields; those that others depend on are checked here, with a StateError."""
        raise NotImplementedError

    def facts(self, ends: Ends) -> dict[str, Any]:
        """Plain values that describe the model: ``kind``, ``loss``, ``labels``, ``features``, and
        others of its kind; docs/inspect.md lists the keys."""
        raise NotImplementedError

    def validate(self, n_features: int = MAX_FEATURES) -> Self:
        """Returns this model if its arrays fit together and data of so many features has its
        columns; else raises StateError."""
        self.require(**self.form())
        columns = schemas.array(np.int32, self.n_features, low=0, high=n_features - 1, rising=True)
        self.require(columns=schemas.maybe(columns))
        return self

    def require(self, **fields: schemas.Check) -> None:
        """Raises StateError for fields that break their schema."""
        schemas.checked(self, schemas.fields(**fields), "model")


class Ends:
    """The `top` largest weights of either sign, with `names` of the features from the first on."""

    def __init__(self, top: int, names: Sequence[str] | None):
        self._top, self._names = top, names

    def of(self, weights: NDArray, name: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        """Weights above 0 and below, largest first; of equal ones the first place first."""
        ends = {}
        for end, sign in (("highest", 1.0), ("lowest", -1.0)):
            places = np.flatnonzero(sign * weights > 0)
            values = sign * weights[places]
            if self._top < len(places):
                least = np.partition(values, -self._top)[-self._top] if self._top else np.inf
                places, values = places[values >= least], values[values >= least]
            order = np.lexsort((places, -values))[: self._top]
            ends[end] = [
                name(int(place)) | {"weight": float(weights[place])} for place in places[order]
            ]
        return ends

    def of_features(self, weights: NDArray, columns: NDArray | None) -> dict[str, Any]:
        """Extreme weights of features, with their number and norm."""

        def name(place: int) -> dict[str, Any]:
            column = place if columns is None else int(columns[place])
            known = self._names is not None and column < len(self._names)
            return {"feature": column + 1} | ({"name": self._names[column]} if known else {})  # type: ignore[index]

        size = {"weighted": int(np.count_nonzero(weights)), "norm": float(np.linalg.norm(weights))}
        return size | self.of(weights, name)


def feature_facts(columns: NDArray | None, weighted: NDArray) -> dict[str, Any]:
    """Largest feature with a weight, number of features with one, and percentage of the others
    below the largest."""
    places = np.flatnonzero(weighted)
    highest = (
        0 if not len(places) else int(places[-1] if columns is None else columns[places[-1]]) + 1
    )
    sparsity = 100.0 * (1 - len(places) / highest) if highest else 100.0
    return {"highest": highest, "weighted": len(places), "sparsity": sparsity}


def kernel_facts(of: Kernel) -> dict[str, Any]:
    """Name of a kernel and the parameters it reads."""
    return {"name": of.name, **of.parameters}


def support_facts(vectors: Csr, alpha: NDArray, columns: NDArray | None) -> dict[str, Any]:
    """Features and number of support vectors, their multipliers, and how many of these are as large
    as the largest."""
    stored = vectors.stored
    used = np.bincount(vectors.indices[stored][vectors.data[stored] != 0], minlength=1)
    size = np.abs(alpha[alpha != 0])
    most = float(size.max(initial=0.0))
    return {
        "features": feature_facts(columns, used),
        "support_vectors": {
            "number": vectors.n_rows,
            "nonzeros": int(np.diff(vectors.indptr).sum()),
            "positive": int((alpha > 0).sum()),
            "negative": int((alpha < 0).sum()),
            "least": float(size.min(initial=most)),
            "most": most,
            "at_most": int((size >= most * (1 - 1e-9)).sum()),
        },
    }


def renumber(X: Csr, columns: NDArray[np.int32] | None) -> Csr:
    """X in a model's own numbering; columns that the model does not have all become
    ``len(columns)``. O(nnz log d).

    Rows keep their values and norms; if unknown columns repeat, rows are good for products only.
    """
    X = X.validate()
    if columns is None:
        return X
    places = np.searchsorted(columns, X.indices).astype(np.int32)
    known = places < len(columns)
    known[known] = columns[places[known]] == X.indices[known]
    places[~known] = len(columns)
    return Csr(X.data, places, X.indptr, len(columns) + 1, True)


def drop_columns(X: Csr, n_features: int) -> Csr:
    """The rows without the columns from n_features on; X itself if there are none."""
    columns = X.indices[X.stored]
    kept = columns < n_features
    if kept.all():
        return X
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr - X.indptr[0]]
    return Csr(X.data[X.stored][kept], columns[kept], ends.astype(np.int64), n_features, X.proven)
