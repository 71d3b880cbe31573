# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut names``: programs that are no entry points of the package, and what runs each."""

from __future__ import annotations

import os
import shutil
import sys

import click

from svmcut.base.errors import OutputError, UsageError
from svmcut.base.messages import escape, join_names
from svmcut.cli.panels import PanelCommand
from svmcut.files.output import write_atomically
from svmcut.spec.kinds import PATH
from svmcut.spec.options import OUTPUT, Option
from svmcut.spec.spellings import nearest

#: The names that are written where none is given, and what runs each: MODULE:FUNCTION.
LAUNCHERS = {
    "svm-train": "svmcut.originals.libs.programs:svm_train",
    "svm-predict": "svmcut.originals.libs.programs:svm_predict",
    "svm-scale": "svmcut.originals.libs.programs:svm_scale",
    "liblinear-train": "svmcut.originals.libs.programs:liblinear_train",
    "liblinear-predict": "svmcut.originals.libs.programs:liblinear_predict",
    "svm_proprank_learn": "svmcut.originals.perf:svm_proprank_learn",
}
#: Those that are common words, written where they are named or PATH has no program of that name.
NAMED = {"train": LAUNCHERS["liblinear-train"], "predict": LAUNCHERS["liblinear-predict"]}
#: By it a launcher is known, which may be written again.
_MARK = "# a launcher of svmcut names\n"


def write_launchers(into: str | None, names: tuple[str, ...]) -> None:
    """Writes the programs of these names, all of LAUNCHERS and those of NAMED that are free
    without any, and says which.

    Raises UsageError for a name that is none, without a folder, and where a file of that name is no
    launcher; and OutputError.
    """
    if into is None:
        raise UsageError("the folder is missing; give --into DIR")
    known = LAUNCHERS | NAMED
    for name in names:
        if name not in known:
            meant = nearest(name, known)
            near = f"did you mean {meant}? It is one of" if meant else "expected"
            raise UsageError("{} is no such name; {} {}", name, near, join_names(known, "or"))
    free = [name for name in NAMED if _is_free(name, into)]
    chosen = list(dict.fromkeys(names)) or [*LAUNCHERS, *free]
    try:
        os.makedirs(into, exist_ok=True)
    except FileExistsError:
        raise OutputError(into, "is a file; name a folder for the programs") from None
    except OSError as error:
        raise OutputError(into, error.strerror or str(error)) from None
    for name in chosen:
        path = os.path.join(into, name)
        if os.path.lexists(path) and not _is_launcher(path):
            raise UsageError("{}: the file is none of svmcut; name another folder", path)
    for name in chosen:
        path = os.path.join(into, name)
        with write_atomically(path) as output:
            output.write(_text(known[name]).encode())
        try:
            os.chmod(path, 0o777 & ~_umask())
        except OSError as error:
            raise OutputError(path, error.strerror or str(error)) from None
    print(escape(f"{join_names(chosen, 'and')}: written into {into}"))


def _is_free(name: str, folder: str) -> bool:
    """True if no program of another kind has this name, on PATH or in the folder."""
    own = os.path.join(folder, name)
    program = own if os.path.lexists(own) else shutil.which(name)
    return program is None or _is_launcher(program)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _is_launcher(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _MARK in file.read(2000)
    except OSError:
        return False


def _text(entry: str) -> str:
    """A script that runs an entry with this interpreter."""
    module, function = entry.split(":")
    python = sys.executable
    head = f"#!{python}\n"
    if " " in python or len(head) > 120:  # more than the system reads of such a line
        quoted = python.replace("'", "'\\''")
        head = f"#!/bin/sh\n'''exec' '{quoted}' \"$0\" \"$@\"\n' '''\n"
    return f"{head}{_MARK}import sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"


_EPILOG = """\b
Examples:
  svmcut names --into ~/bin                  svm-train, svm-predict, ..., train, predict
  svmcut names --into bin train predict      LIBLINEAR's own names alone
"""

ROWS = (Option("into", ("--into",), OUTPUT, "Folder for the programs; it is created.", kind=PATH),)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def names(names: tuple[str, ...], into: str | None = None) -> None:
    """Write programs with the names of LIBSVM, LIBLINEAR and svm_proprank into a folder.

    It writes svm-train, svm-predict, svm-scale, liblinear-train, liblinear-predict and
    svm_proprank_learn. Put the folder first in PATH, and scripts use these programs: they have the
    options, printed lines and exit statuses of LIBSVM 3.37 and LIBLINEAR 2.50. They are not
    installed otherwise, because the originals may be there. svm_proprank_learn takes
    svm_rank_learn's options except -l, and trains like svmcut rank --propensities. LIBLINEAR's own
    names, train and predict, are written too unless PATH has another program of that name; name
    them to write them all the same.
    """
    write_launchers(into, names)
