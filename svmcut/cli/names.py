# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut names``."""

from __future__ import annotations

import click

from svmcut.cli.option_entry import OUTPUT, Option
from svmcut.cli.panels import PanelCommand
from svmcut.spec.kinds import PATH

_EPILOG = """\b
Examples:
  svmcut names --into ~/bin                  svm-train, svm-predict, ..., liblinear-predict
  svmcut names --into bin train predict      LIBLINEAR's own names
"""

ROWS = (Option("into", ("--into",), OUTPUT, "The folder; it is made.", kind=PATH),)


@click.command(cls=PanelCommand, rows=ROWS, epilog=_EPILOG)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def names(names: tuple[str, ...], into: str | None = None) -> None:
    """Write programs with the names of LIBSVM, LIBLINEAR and svm_proprank into a folder.

    They are svm-train, svm-predict, svm-scale, liblinear-train and liblinear-predict, with every
    option, printed line and exit status of LIBSVM 3.37 and LIBLINEAR 2.50, so that a script finds
    them first where the folder stands first in PATH. Nothing else installs them, as the originals
    may be there. svm_proprank_learn takes svm_rank_learn's options but -l, and trains as svmcut
    rank --propensities. train and predict, which are LIBLINEAR's own names, are written where they
    are named.
    """
    from svmcut.cli.launchers import write_launchers

    write_launchers(into, names)
