# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of a training run: when they are written, what signals do, and which options a
resumed run may change."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable

from svmcut._version import __version__
from svmcut.base import records
from svmcut.base.errors import CheckpointError, ClusterError, OutputError
from svmcut.base.messages import escape, hide_secrets
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli.guard import warn
from svmcut.cli.options import LearnOptions, rows
from svmcut.cli.termination import STOPPED, Terminated, pending_signal
from svmcut.files.checkpoints import (
    Generations,
    check_names,
    fingerprint,
    hold_lock,
    previous_path,
    read_checkpoint,
    refuse_unfit,
    write_checkpoint,
)
from svmcut.files.remote import has_file
from svmcut.spec import schemas
from svmcut.spec.catalog import KERNEL_PARAMETERS
from svmcut.spec.schemas import state_classes
from svmcut.training.outcome import Outcome

if TYPE_CHECKING:
    from svmcut.data.examples import Examples, MultilabelExamples, Sequences

#: Fields of LearnOptions that may differ between a run and the one that goes on from its
#: checkpoint.
OPTIONS_THAT_MAY_CHANGE = frozenset(
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
    """Keeps the last state of a run and writes it at intervals, on SIGUSR1, and when SIGTERM ends
    the run.

    SIGTERM raises Terminated wherever the run is; the last snapshot is then written, and the work
    since is lost. A checkpoint that cannot be written does not end the run.
    """

    def __init__(self, path: str, options: LearnOptions):
        self.path, self._options, self._classes = path, options, state_classes()
        self._identity: dict[str, Any] = {}
        self._latest: Any = None
        self._last_write = time.perf_counter()
        self._is_requested = False
        self._files = Generations(path)
        self._tries, self._failures, self._failure = 0, 0, ""
        self._lock_warning: str | None = None

    @contextlib.contextmanager
    def hold_file(self):
        """Locks the checkpoint for this run within the context; raises CheckpointError or
        UsageError if the name holds another file or another run has the lock."""
        check_names(self.path)
        with hold_lock(self.path) as self._lock_warning:
            if self._lock_warning is not None:
                self._warn(self._lock_warning)
            yield

    @property
    def warnings(self) -> list[str]:
        """Warnings for the report; standard error has shown them already."""
        texts = [] if self._lock_warning is None else [self._lock_warning]
        if self._failures:
            texts.append(
                f"{self._failure}; {self._failures} of {self._tries} checkpoints were not written"
            )
        return texts

    @contextlib.contextmanager
    def handle_signals(self):
        """Handles SIGTERM and SIGUSR1 within the context."""

        def want(number, frame):
            self._is_requested = True

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
                failure = self._write(last=True)
                if pending_signal() and failure is not None and not self._files:
                    raise Terminated(kept=False) from None
            if isinstance(error, ClusterError) and self.has_state:
                error.exit_status = STOPPED
            raise
        finally:
            if before is not None:
                signal.signal(signal.SIGUSR1, before)

    @property
    def has_state(self) -> bool:
        """True if there is a state to resume from, this run's or the one it resumed."""
        names = (self.path, previous_path(self.path)) if self._options.resume else ()
        return bool(self._files) or any(map(has_file, names))

    def unfit(self) -> contextlib.AbstractContextManager[None]:
        """Context that names the checkpoint in failures to read a resumed state."""
        return refuse_unfit(self.path)

    def identify(
        self, examples: Examples | Sequences | MultilabelExamples, options: LearnOptions
    ) -> None:
        """Records what this run trains on, and the options with the task that the labels
        decided."""
        self._options = options
        self._identity = {
            "version": __version__,
            "examples": fingerprint(examples),
            "options": identifying_options(self._options),
        }

    def resume(self) -> Any:
        """Returns the state to resume from, or None with a warning if there is no checkpoint.
        Raises CheckpointError if it is damaged or of another version, other examples or other
        options."""
        checkpoint = read_checkpoint(self.path, self._classes)
        if checkpoint is None:
            self._warn(f"no checkpoint at {escape(self.path)}; training starts afresh")
            return None
        identity, state = checkpoint
        differences = self._differences(identity)
        if differences:
            raise CheckpointError(
                self.path,
                f"is of another run: {'; '.join(differences)}; remove it or leave out --resume",
            )
        with self.unfit():
            schemas.checked(state, self._schema("limit" in state))
        self._files.own_all()
        return self._apply_larger_limit(state)

    def _apply_larger_limit(self, state: dict[str, Any]) -> dict[str, Any]:
        """Cuts the state back to the first model that a larger --max-iterations trains on; "raised"
        says if the limit grew."""
        limit, now, outcomes = state.get("limit"), self._options.max_iterations, state["outcomes"]
        raised = limit is not None and (now is None or now > limit)
        stopped = (k for k, one in enumerate(outcomes) if one.stopped_by == "limit")
        if not raised or (count := next(stopped, None)) is None:
            return state | {"raised": raised}
        kept = {"outcomes": outcomes[:count], "rows": state["rows"][:count], "driver": None}
        return state | kept | {"raised": True}

    def _schema(self, limited: bool) -> schemas.Check:
        """Schema of a state: finished models, their rows of the report, the state of the driver,
        and the limit of iterations."""
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
        """Keeps a state that the run can resume from, and writes it if one is due."""
        self._latest = snapshot()
        if self._options.max_iterations is not None:
            self._latest["limit"] = self._options.max_iterations
        if (
            self._is_requested
            or time.perf_counter() - self._last_write >= self._options.checkpoint_every
        ):
            self._write()

    def finish(self, keep: bool) -> None:
        """Removes the checkpoint after the models are written, or writes the last state for a run
        with larger limits."""
        if keep and self._latest is not None:
            self._write(last=True)
        elif not keep:
            self._files.remove()

    def _write(self, last: bool = False) -> Exception | None:
        """Writes the latest state; returns a failure, of which the first and the
        last."""
        self._is_requested = False
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
            return error
        finally:
            self._last_write = time.perf_counter()
        self._files.own_newest()
        return None

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
        names = {option.field: option.full for option in rows(self._options.task)}
        for field in sorted(mine["options"].keys() | other["options"].keys()):
            was, now = (side["options"].get(field, "nothing") for side in (other, mine))
            if was != now:
                name = names.get(field, "--" + field.replace("_", "-"))
                differences.append(f"{name} was {was} and is {now}")
        return differences


def identifying_options(options: LearnOptions) -> dict[str, str]:
    """Options that decide the model, as text by field."""
    values = {field.name: getattr(options, field.name) for field in records.fields(options)}
    for name in ("cost", "example_cost", *KERNEL_PARAMETERS):
        if values[name]:
            values[name] = ",".join(repr(typed.value) for typed in values[name])
    return {
        name: hide_secrets(str(value))
        for name, value in values.items()
        if name not in OPTIONS_THAT_MAY_CHANGE
    }
