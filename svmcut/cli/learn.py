# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn and svmcut rank: the click commands in front of a training run."""

from __future__ import annotations

from functools import cache

import click

from svmcut.cli.commands import train
from svmcut.cli.options import LEARNT, LearnOptions, collected, named_task, options
from svmcut.cli.panels import PanelCommand, PanelOption

TASK, WORDS = "svmcut.task", "svmcut.words"


class TrainingCommand(PanelCommand):
    """A command whose options and examples are those of its task, or of the task that its command
    line names."""

    def parse_args(self, ctx, args):
        ctx.meta[TASK], ctx.meta[WORDS] = named_task(self.name, args), tuple(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx):
        return [*_made(self.task(ctx)), *super().get_params(ctx)]

    def invoke(self, ctx) -> int:
        return train(options_of(ctx))

    def format_epilog(self, ctx, formatter):
        self.epilog = EPILOGS[self.task(ctx)]
        super().format_epilog(ctx, formatter)

    def task(self, ctx) -> str:
        """The task of a context."""
        return self.name if self.name == "rank" else ctx.meta.get(TASK, LEARNT[0])


@cache
def _made(task: str) -> list[PanelOption]:
    """The click options of a task, which click asks for twice."""
    return [*map(PanelOption.of, options(task))]


def options_of(ctx: click.Context) -> LearnOptions:
    """The options of a context whose command line is read."""
    assert isinstance(ctx.command, TrainingCommand)
    given = {name: value for name, value in ctx.params.items() if value is not None}
    return collected(ctx.command.name, ctx.meta[WORDS], given)


EPILOGS = {
    "classification": """\b
Examples:
  svmcut learn -c 20 train.dat model            svm_perf's unit of C
  svmcut learn --example-cost 1 train.dat model LIBLINEAR's unit of C
  svmcut learn -c 20 -l f1 train.dat model      best F1 instead of fewest errors
  svmcut learn -c 1 --gap 1e-4 --report run.json train.dat.gz model
  zcat train.gz | svmcut learn -c 1 - model     from a pipe
""",
    "rank": """\b
Examples:
  svmcut rank -c 20 train.dat model              svm_rank's unit of C
  svmcut rank -c 1 -l swapped-fraction train.dat model
  svmcut rank -c 1000 -l ndcg --at 5 train.dat model
  svmcut classify test.dat model scores          swapped pairs, NDCG and MAP
""",
    "sequence": """\b
Examples:
  svmcut learn --task sequence -c 1000 train.hmm model          svm_hmm's unit of C
  svmcut learn --task sequence --example-cost 0.1 train.hmm model
  svmcut learn --task sequence -c 1000 --t 2 --e 1 train.hmm model
  svmcut learn --task sequence --example-cost 1 --gap 0.01 -t 2 -g 0.05 train.hmm model
  svmcut classify test.hmm model tags.txt
""",
    "regression": """\b
Examples:
  svmcut learn --task regression -c 1 train.dat model            LIBLINEAR's and LIBSVM's unit of C
  svmcut learn --task regression -c 1 --tube 0.5 --gap 1e-5 train.dat model
  svmcut learn --task regression -c 0.1,1,10 --validate dev.dat --select mse train.dat model
  svmcut learn --task regression -c 10 -t 2 -g 0.5 train.dat model                 svm-train -s 3
  svmcut classify test.dat model numbers           squared and absolute error, R2
""",
    "multiclass": """\b
Examples:
  svmcut learn --task multiclass train.dat model                     LIBLINEAR's -s 4 -c 1
  svmcut learn --task multiclass --multiclass one-vs-rest train.dat model
  svmcut learn --task multiclass -t 2 -g 0.5 --solver smo train.dat model    svm-train's -g 0.5
  svmcut learn --task multiclass -c 100 train.dat model              svm_multiclass's unit of C
  svmcut classify test.dat model labels.txt                      label and the scores of all classes
""",
    "multilabel": """\b
Examples:
  svmcut learn --task multilabel --example-cost 1 train.ml model       labels and their pairs
  svmcut learn --task multilabel --example-cost 1 --pairs none train.ml model
  svmcut learn --task multilabel -c 10,100,1000 --validate dev.ml --select micro-f1 train.ml model
  svmcut classify test.ml model labels.txt
""",
}


@click.command(cls=TrainingCommand)
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", required=False)
def learn(**values):
    """Train a support vector machine on EXAMPLE_FILE and write it to MODEL_FILE.

    EXAMPLE_FILE holds one example a line, LABEL INDEX:VALUE INDEX:VALUE ... (LIBSVM and svm_light
    format); it may be compressed (gzip, bzip2, xz, zstd), a pipe, or - for standard input.
    MODEL_FILE may be - for standard output; what is printed goes to standard error then. Two labels
    are two classes, the larger is positive (--positive names another), three or more whole ones as
    many classes; the model keeps them. Every option of svm_perf_learn is taken with the same
    meaning.

    With --task sequence a line is a token, TAG qid:SEQUENCE INDEX:VALUE ..., tags are integers from
    1, and the lines of a sequence stand together. Every option of svm_hmm_learn is taken with the
    same meaning.

    With --task regression LABEL is the number to predict.

    With --task multilabel a line is LABEL,LABEL,... INDEX:VALUE ..., labels are whole numbers from
    0, and a line that starts with a blank has none; a first line EXAMPLES FEATURES LABELS says that
    features are counted from 0.
    """


@click.command(cls=TrainingCommand)
@click.argument("example_file", metavar="EXAMPLE_FILE")
@click.argument("model_file", metavar="[MODEL_FILE]", required=False)
def rank(**values):
    """Learn to rank from EXAMPLE_FILE and write the model to MODEL_FILE.

    EXAMPLE_FILE holds one row a line, LABEL qid:QUERY INDEX:VALUE INDEX:VALUE ... Rows of a query
    stand together, query numbers do not decrease; a larger label belongs above a smaller one of the
    same query. Without qid all rows are one query (ordinal regression). Every option of
    svm_rank_learn is taken with the same meaning.
    """
