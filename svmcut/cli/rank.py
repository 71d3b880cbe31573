# SPDX-License-Identifier: BSD-3-Clause
"""svmcut rank: learning to order the rows of a query."""

from __future__ import annotations

import click

from svmcut.cli.learn import collected, switches, table_options
from svmcut.cli.options import RANK

EPILOG = """\b
Examples:
  svmcut rank -c 20 train.dat model              svm_rank's unit of C
  svmcut rank -c 1 -l swapped-fraction train.dat model
  svmcut classify test.dat model scores          swapped pairs, NDCG and MAP
"""


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-?", "--help"], "max_content_width": 110})
@table_options(RANK)
@switches
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", default="svm_struct_model")
def rank(**values):
    """Learn to rank from EXAMPLE_FILE and write the model to MODEL_FILE.

    EXAMPLE_FILE holds one row a line, LABEL qid:QUERY INDEX:VALUE INDEX:VALUE ... Rows of a query stand together, query
    numbers do not decrease; a larger label belongs above a smaller one of the same query. Without qid all rows are one
    query (ordinal regression). Every option of svm_rank_learn is taken with the same meaning.
    """
    from svmcut.cli.training import run

    return run(collected(values, "rank", "rank"))
