# SPDX-License-Identifier: BSD-3-Clause
"""What every class of models says of itself."""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar
from svmcut.spec import schemas

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from svmcut.models.facts import Ends
    from svmcut.tables.encoding import Encoding

MOST_FEATURES = 2**31 - 1
#: Gap, radius of the ball of the exact optimum, constant feature; see svmcut.training.certificate.
CERTIFICATE = schemas.maybe(schemas.row(schemas.REAL, schemas.REAL, schemas.REAL))
#: The same with the radius of every machine, where each is trained by itself.
CERTIFICATES = schemas.maybe(schemas.many(schemas.REAL, 3))
#: C of a row that weighs 1, keys of rows (svmcut.data.changes), their multipliers as parts of C.
MULTIPLIERS = schemas.maybe(
    schemas.row(schemas.real(0), schemas.array("int64", None), schemas.reals(None, low=0))
)


def ball_of(certificate: tuple[float, ...] | None) -> dict[str, Any]:
    """What a model's certificate is among its facts; nothing where there is none."""
    if certificate is None:
        return {}
    ball: dict[str, Any] = dict(zip(("gap", "radius", "bias"), certificate[:3], strict=True))
    return {"ball": ball | ({"radii": list(certificate[3:])} if certificate[3:] else {})}


class BaseModel:
    """A function of rows, or of sequences of rows; a record, whose fields a file holds.

    Attributes
    ----------
    columns : (d,) int32 or None
        Increasing columns of the data that its d features are; None for 0 to d - 1.
    of_sequences : bool
        Whether it has tags of sequences, and no scores of a row.
    has_ball : bool
        Whether its weights are those that an objective is regularised in, so that a gap bounds how
        far they are from the optimum's.
    of_sets : bool
        Whether it predicts sets of labels.
    table : Encoding or None
        Of the table it was trained on.
    """

    __slots__ = ()

    of_sequences: ClassVar[bool] = False
    has_ball: ClassVar[bool] = False
    of_sets: ClassVar[bool] = False
    columns: NDArray[np.int32] | None
    table: Encoding | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What the labels 1, 2, ... are called; none where labels are numbers."""
        return () if self.table is None else self.table.words

    @property
    def n_radii(self) -> int:
        """Machines that may have a radius of their own in its certificate."""
        return 0

    @property
    def n_features(self) -> int:
        """d, in its own numbering."""
        raise NotImplementedError

    def form(self) -> dict[str, schemas.Check]:
        """What its fields must look like; those that others depend on are checked here.

        Raises
        ------
        StateError
        """
        raise NotImplementedError

    def facts(self, ends: Ends) -> dict[str, Any]:
        """What it is, has and weighs, as plain values: ``kind``, ``loss``, ``labels``,
        ``features``, and what its kind has; docs/inspect.md lists the keys."""
        raise NotImplementedError

    def validate(self, n_features: int = MOST_FEATURES) -> Self:
        """This model, where its arrays fit together and data of so many features has its columns.

        Raises
        ------
        StateError
        """
        self.require(**self.form())
        columns = schemas.array(np.int32, self.n_features, low=0, high=n_features - 1, rising=True)
        self.require(columns=schemas.maybe(columns))
        return self

    def require(self, **fields: schemas.Check) -> None:
        """Refuses fields that are not so; raises StateError."""
        schemas.checked(self, schemas.fields(**fields), "model")
