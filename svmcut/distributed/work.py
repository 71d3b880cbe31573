# SPDX-License-Identifier: BSD-3-Clause
"""Tasks on parts that workers are sent. A worker has Dask; nothing is imported of it here."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from numpy.typing import NDArray

from svmcut.base.errors import ClusterError, DataError, SvmcutError
from svmcut.base.messages import Message
from svmcut.base.typing import Any, NamedTuple
from svmcut.distributed.parts import Bound, Found, Part, Place, Reading, Sizes, UnknownVector
from svmcut.distributed.rows import merge_nodes, part_of, tree_sum


def worker() -> str:
    """The address of this worker."""
    return sys.modules["distributed"].get_worker().address


@contextlib.contextmanager
def name_worker(address: str | None = None) -> Iterator[None]:
    """Says on which worker there is no memory."""
    try:
        yield
    except SvmcutError:
        raise
    except MemoryError as error:
        text = (
            f"the worker {address or worker()} is out of memory{': ' if str(error) else ''}{error}"
        )
        raise ClusterError("{}; use smaller files or more memory a worker", text) from None


class Failed(NamedTuple):
    """An error in the place of a part: a task that fails has its traceback in the log of every
    worker."""

    error: SvmcutError


def whole(given: Any) -> Any:
    """The result of a task; raises the error of its part."""
    if isinstance(given, Failed):
        raise given.error
    return given


def read(path: Any, reading: Reading, bound: Bound | None = None) -> Part | Failed | None:
    """A part; None of a file without rows."""
    try:
        with name_worker():
            return part_of(path, reading, bound)
    except DataError as error:
        if error.line is not None or isinstance(path, dict):
            return Failed(error)
        told = Message("{}; the worker {} reads it", error.message, worker())
        return Failed(DataError(error.path, told))
    except SvmcutError as error:
        return Failed(error)


def ask(
    task: Callable[..., NDArray], parts: Sequence[Part], places: list, numbers: tuple, each: Any
) -> Any:
    """The sum of the answers of neighbouring parts, and who gave it."""
    where = [Place(*place) for place in places]
    own = [()] * len(parts) if each is None else [(item,) for item in each]
    with name_worker():
        total = tree_sum(
            [
                task(whole(part), *where, *numbers, *more)
                for part, more in zip(parts, own, strict=True)
            ]
        )
    return total, worker()


async def sums(
    task: Callable[..., NDArray],
    asked: Mapping[str, list],
    places: list,
    new: Mapping[str, NDArray],
    numbers: tuple,
    dask_worker: Any,
) -> dict[tuple[int, int], NDArray] | None:
    """Sums over the parts of this worker, by node of the tree; None where it does not know all
    vectors.

    asked: by address, nodes of the tree and keys of their parts. places: names and steps. new:
    vectors by name, in the order of their use; those of earlier rounds are known.
    """
    nodes = [
        (node, [dask_worker.data[key] for key in keys]) for node, keys in asked[dask_worker.address]
    ]

    def answer(parts: list[Part]) -> NDArray:
        return tree_sum([task(whole(part), *part.places(places, new), *numbers) for part in parts])

    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    with name_worker(dask_worker.address):
        try:
            totals = await asyncio.gather(
                *(loop.run_in_executor(threads, answer, parts) for _, parts in nodes)
            )
        except UnknownVector:
            return None
    return merge_nodes({node: value for (node, _), value in zip(nodes, totals, strict=True)})


def answers(
    task: Callable[..., Any], parts: Sequence[Part], places: list, numbers: tuple
) -> list[Any]:
    """The answers themselves."""
    where = [Place(*place) for place in places]
    with name_worker():
        return [task(whole(part), *where, *numbers) for part in parts]


def add(a: Any, b: Any) -> Any:
    """The sum of two answers of `ask`."""
    return a[0] + b[0], b[1]


def literal(w: Any) -> Any:
    """A vector, as a task."""
    return w


def run(task: Callable[..., Any], *job: Any) -> Any:
    """task(*job), or what is wrong with it."""
    try:
        with name_worker():
            return task(*job)
    except SvmcutError as error:
        return Failed(error)


def facts(part: Part | Failed | None) -> Found | Failed | None:
    """The facts of a part, which the worker that read it keeps."""
    return part.facts() if isinstance(part, Part) else part


def bind(part: Part | Failed, bound: Bound) -> Part | Failed:
    """A part that is bound."""
    try:
        with name_worker():
            return whole(part).bind(bound)
    except SvmcutError as error:
        return Failed(error)


def sizes(part: Part | Failed) -> Sizes | Failed:
    """The sizes of a bound part."""
    return part.sizes() if isinstance(part, Part) else part
