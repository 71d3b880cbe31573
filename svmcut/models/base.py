# SPDX-License-Identifier: BSD-3-Clause
"""The base class of models: the fields, checks and facts that all have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, Self
from svmcut.spec import schemas

if TYPE_CHECKING:
    from svmcut.models.facts import Ends
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
