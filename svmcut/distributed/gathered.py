# SPDX-License-Identifier: BSD-3-Clause
"""Losses of all examples together: the scores of the parts come to one place, the coefficients of a
cut go back."""

from __future__ import annotations

import numpy as np

from svmcut.data.examples import Csr, Examples, Source
from svmcut.distributed.oracle import Carried
from svmcut.spaces.linear import WeightSpace
from svmcut.spec import schemas
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.distributed.parts import Part, Place
    from svmcut.distributed.rows import Rows

#: Examples up to which their scores are gathered: 80 MB a round.
MOST_GATHERED = 10_000_000
NO_ROWS = Csr(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), 0, True)


def signs(part: Part) -> NDArray[np.float64]:
    """(rows,) labels as the risk takes them."""
    return part.examples.y


def scores(part: Part, at: Place) -> NDArray[np.float64]:
    """(rows,) of a point."""
    return part.scores(at)


def seen(part: Part, at: Place) -> tuple:
    """Labels as the risk takes them, queries, and scores at a point."""
    examples = part.examples
    return examples.y, examples.qid, part.scores(at)


def normal(part: Part, dim: float, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """(dim,): A^T coef"""
    return part.space(int(dim)).adjoint(coef)


def tallied(rows: Rows, tally: Any, w: NDArray[np.float64], n: int) -> Any:
    """A Tally of scores with those of n rows at w; None where they are more than are gathered."""
    K = len(tally.names) if hasattr(tally, "names") else 1
    if n * K > MOST_GATHERED:
        return None
    for y, qid, of_rows in rows.gather(seen, [Carried(w)]):
        of_rows = of_rows if K == 1 else of_rows.reshape(-1, K)
        tally.add(Examples(NO_ROWS, y, qid, None, Source("a part")), of_rows)
    return tally


class GatheredSpace(WeightSpace):
    """Rows in parts, whose scores are seen at one place.

    Parameters
    ----------
    rows : Rows
    bounds : (parts + 1,) sequence of int
        First example of every part, and the number of all.
    n_features, bias, threads
        As in WeightSpace.
    """

    def __init__(
        self, rows: Rows, bounds: Sequence[int], n_features: int, bias: float, threads: int
    ):
        super().__init__(n_features, bias, threads)
        self._rows, self._bounds = rows, bounds

    def kinds(self) -> schemas.Kinds:
        of_examples = schemas.reals(self._bounds[-1])
        return super().kinds()._replace(scores=of_examples, coef=of_examples)

    def scores(self, w) -> NDArray[np.float64]:
        """A w: (n,) scores; one round."""
        return np.concatenate(self._rows.gather(scores, [Carried(w)]))

    def adjoint(self, coef) -> NDArray[np.float64]:
        """A^T coef; one round."""
        each = [
            coef[start:stop] for start, stop in zip(self._bounds, self._bounds[1:], strict=False)
        ]
        return self._rows.sum(normal, [], float(self.dim), each=each)
