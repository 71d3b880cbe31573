# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of a training run: when they are written, what a run must share with one to go on
from it, signals."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable

from svmcut._version import __version__
from svmcut.base import records
from svmcut.base.errors import CheckpointError, ClusterError, OutputError
from svmcut.base.messages import printable, without_secrets
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli.guard import warn
from svmcut.cli.options import options as table
from svmcut.cli.termination import STOPPED, Terminated, pending_signal
from svmcut.files.checkpoints import (
    Generations,
    check_ours,
    fingerprint,
    hold,
    previous,
    read_checkpoint,
    unfit,
    write_checkpoint,
)
from svmcut.files.remote import exists
from svmcut.spec import schemas
from svmcut.spec.catalog import KERNEL_PARAMETERS
from svmcut.spec.schemas import state_classes
from svmcut.training.outcome import Outcome

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions
    from svmcut.data.examples import Examples, MultilabelExamples, Sequences

#: Fields of LearnOptions that may differ between a run and the one that goes on from its
#: checkpoint.
FREE = frozenset(
    {
        "example_file",
        "model_file",
        "weights",
        "threads",
        "max_memory",
        "report",
        "trace",
        "progress",
        "alphas",
        "verbosity",
        "format",
        "light_verbosity",
        "time_limit",
        "max_iterations",
        "checkpoint",
        "checkpoint_every",
        "resume",
        "given",
        "zero_based",
        "input",
        "scheduler",
        "scheduler_file",
        "work_dir",
        "cache",
    }
)


class Checkpoints:
    """Keeps the last state of a run, writes it at intervals, on SIGUSR1, and when SIGTERM ends the
    run.

    Parameters
    ----------
    path : str
        The checkpoint file.
    options : LearnOptions

    Notes
    -----
    SIGTERM raises Terminated wherever the run is; within the context the state of the last look is
    written then. What the run did since is lost and will be done again. A checkpoint that cannot be
    written does not end the run: the next one may be.
    """

    def __init__(self, path: str, options: LearnOptions):
        self.path, self._options, self._classes = path, options, state_classes()
        self._identity: dict[str, Any] = {}
        self._latest: Any = None
        self._written = time.perf_counter()
        self._wanted = False
        self._files = Generations(path)
        self._tries, self._failures, self._failure = 0, 0, ""
        self._lock_warning: str | None = None

    @contextlib.contextmanager
    def held(self):
        """Keeps the checkpoint for this run alone, until the end of the context.

        Raises
        ------
        CheckpointError, UsageError
            When something else stands under its name, or another run holds it.
        """
        check_ours(self.path)
        with hold(self.path) as self._lock_warning:
            if self._lock_warning is not None:
                self._warn(self._lock_warning)
            yield

    @property
    def warnings(self) -> list[str]:
        """What the report says of them; standard error has it already."""
        texts = [] if self._lock_warning is None else [self._lock_warning]
        if self._failures:
            texts.append(
                f"{self._failure}; {self._failures} of {self._tries} checkpoints were not written"
            )
        return texts

    @contextlib.contextmanager
    def signals(self):
        """SIGTERM and SIGUSR1 as above, until the end of the context."""

        def want(number, frame):
            self._wanted = True

        before = None
        with contextlib.suppress(
            ValueError, AttributeError
        ):  # only the main thread may; not every system has it
            before = signal.signal(signal.SIGUSR1, want)
        try:
            yield
        except BaseException as error:
            if self._latest is not None and (
                pending_signal() or isinstance(error, KeyboardInterrupt | ClusterError)
            ):
                written = self._write(last=True)
                if pending_signal() and not written and not self._files:
                    raise Terminated(kept=False) from None
            if isinstance(error, ClusterError) and self.kept:
                error.exit_status = STOPPED
            raise
        finally:
            if before is not None:
                signal.signal(signal.SIGUSR1, before)

    @property
    def kept(self) -> bool:
        """Whether there is a state to go on from: of this run, or still the one it was to go on
        from."""
        names = (self.path, previous(self.path)) if self._options.resume else ()
        return bool(self._files) or any(map(exists, names))

    def unfit(self) -> contextlib.AbstractContextManager[None]:
        """The context of what reads a resumed state: it names the checkpoint where that fails."""
        return unfit(self.path)

    def identify(
        self, examples: Examples | Sequences | MultilabelExamples, options: LearnOptions
    ) -> None:
        """Says what this run trains on, and the options with the task that the labels named."""
        self._options = options
        self._identity = {
            "version": __version__,
            "examples": fingerprint(examples),
            "options": settings(self._options),
        }

    def resume(self) -> Any:
        """The state to go on from, or None with a warning where there is no checkpoint.

        Raises
        ------
        CheckpointError
            When the checkpoint is damaged, or of another version, other examples or other options;
            says which.
        """
        checkpoint = read_checkpoint(self.path, self._classes)
        if checkpoint is None:
            self._warn(f"no checkpoint at {printable(self.path)}; training starts afresh")
            return None
        identity, state = checkpoint
        differences = self._differences(identity)
        if differences:
            raise CheckpointError(
                self.path,
                f"is of another run: {'; '.join(differences)}; remove it or leave out --resume",
            )
        with self.unfit():
            schemas.checked(state, self._form("limit" in state))
        self._files.own_all()
        return self._raised(state)

    def _raised(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state up to the first model that a larger limit of iterations trains on, and under
        "raised" whether it is larger."""
        limit, now, outcomes = state.get("limit"), self._options.max_iterations, state["outcomes"]
        raised = limit is not None and (now is None or now > limit)
        stopped = (k for k, one in enumerate(outcomes) if one.stopped_by == "limit")
        if not raised or (count := next(stopped, None)) is None:
            return state | {"raised": raised}
        kept = {"outcomes": outcomes[:count], "rows": state["rows"][:count], "driver": None}
        return state | kept | {"raised": True}

    def _form(self, limited: bool) -> schemas.Check:
        """What a run writes: the models that are done, what is said of each, where the next stands,
        and a limit of their iterations."""
        options = self._options
        number = schemas.ANY_REAL
        text = schemas.text()
        several = 0 if options.searches else len(options.path) - 1
        row = schemas.fields(
            C=number,
            model=text,
            solver=text,
            primal=number,
            dual=number,
            gap=number,
            converged=schemas.flag,
            iterations=schemas.COUNT,
            seconds=number,
            training=schemas.instance(dict),
        )
        outcomes = schemas.many(schemas.instance(Outcome), 0, several)
        known = {
            "outcomes": outcomes,
            "rows": schemas.many(row, 0, several),
            "driver": schemas.instance(dict),
        }
        known |= {"limit": schemas.COUNT} if limited else {}
        if options.searches:  # which holds no driver before the grid is done
            known |= {"search": schemas.instance(dict), "driver": schemas.maybe(known["driver"])}
        return schemas.fields(**known)

    def take(self, snapshot: Callable[[], Any]) -> None:
        """Keeps the state of a run at a place it can go on from; writes it when that is due."""
        self._latest = snapshot()
        if self._options.max_iterations is not None:
            self._latest["limit"] = self._options.max_iterations
        if self._wanted or time.perf_counter() - self._written >= self._options.checkpoint_every:
            self._write()

    def finish(self, keep: bool) -> None:
        """After the models are written: removes what this run wrote, or leaves the last state for
        larger limits."""
        if keep and self._latest is not None:
            self._write(last=True)
        elif not keep:
            self._files.remove()

    def _write(self, last: bool = False) -> bool:
        """Whether the latest state could be written; a warning says the first time, and the last,
        that it could not."""
        self._wanted = False
        self._tries += 1
        try:
            write_checkpoint(self.path, self._identity, self._latest, self._classes)
        except (OutputError, CheckpointError) as error:
            self._failures += 1
            self._failure = str(error)
            if last:
                self._warn(
                    f"{error}; {'an older state is there' if self._files else 'there is nothing'} "
                    "to go on from"
                )
            elif self._failures == 1:
                self._warn(f"{error}; training goes on and tries again")
            return False
        finally:
            self._written = time.perf_counter()
        self._files.own_newest()
        return True

    def _warn(self, message: str) -> None:
        warn(f"svmcut {self._options.command}", message)

    def _differences(self, other: dict[str, Any]) -> list[str]:
        mine, differences = self._identity, []
        if other["version"] != mine["version"]:
            differences.append(f"it is of svmcut {other['version']}, this is {mine['version']}")
        if other["examples"] != mine["examples"]:
            differences.append(
                f"the examples of {self._options.example_file} differ, or their weights"
            )
        names = {option.field: option.full for option in table(self._options.task)}
        for field in sorted(mine["options"].keys() | other["options"].keys()):
            was, now = (side["options"].get(field, "nothing") for side in (other, mine))
            if was != now:
                name = names.get(field, "--" + field.replace("_", "-"))
                differences.append(f"{name} was {was} and is {now}")
        return differences


def settings(options: LearnOptions) -> dict[str, str]:
    """The options that decide the model, as text by field."""
    values = {field.name: getattr(options, field.name) for field in records.fields(options)}
    for name in ("cost", "example_cost", *KERNEL_PARAMETERS):
        if values[name]:
            values[name] = ",".join(repr(typed.value) for typed in values[name])
    return {name: without_secrets(str(value)) for name, value in values.items() if name not in FREE}
