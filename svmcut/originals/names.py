# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut names``."""

from __future__ import annotations

import click

from svmcut.cli.panels import PanelCommand
from svmcut.spec.kinds import PATH
from svmcut.spec.options import OUTPUT, Option

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
    from svmcut.originals.launchers import write_launchers

    write_launchers(into, names)
