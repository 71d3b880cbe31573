# SPDX-License-Identifier: BSD-3-Clause
"""The executables with the originals' names: their command lines, their reports, exit status 0 or
1."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from functools import partial

from svmcut._version import __version__
from svmcut.base.errors import UsageError
from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.cli.guard import guard
from svmcut.cli.options import LearnOptions
from svmcut.spec.catalog import MULTICLASS
from svmcut.spec.entries import PROPENSITIES

_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_INTEGER = re.compile(r"\s*([+-]?\d+)(\.\d*)?\s*")
#: Of options that are taken for compatibility alone.
IDLE = "idle"


@record
class Flag:
    """One option of an original."""

    #: The key of the value.
    name: str
    #: Int, float or str, or a Kind of the table of options; integers drop what follows a decimal
    #: point, as the originals do.
    type: Any
    default: Any
    help: str = ""


@record
class Grammar:
    """The command line of an original."""

    #: Shown in the usage line.
    program: str
    #: Shown in the usage line.
    arguments: str
    #: One sentence.
    summary: str
    #: By the one character that counts, the second of ``-x``.
    flags: Mapping[str, Flag]
    #: By the one character that counts, the third of ``--x``.
    long_flags: dict[str, Flag]
    #: Second characters that ask for help.
    help_characters: str = "?"
    #: Fewest arguments after the options.
    least: int = 2
    #: Every long option that is none of these.
    other: Flag | None = None

    def usage(self) -> str:
        """The help text."""
        lines = [
            f"usage: {self.program} [options] {self.arguments}",
            "",
            self.summary,
            "",
            "options:",
        ]
        for dashes, table in (("-", self.flags), ("--", self.long_flags)):
            for letter, flag in table.items():
                kind = getattr(flag.type, "__name__", None) or flag.type.name.lower()
                lines.append(f"  {dashes + letter:<4} {kind:<6} {flag.help}")
        if self.other is not None:
            lines.append(f"  --*         {self.other.help}")
        lines.append(f"  -{self.help_characters[0]}, --help  this help")
        lines.append("  --version   the version")
        return "\n".join(lines) + "\n"


class TextRequested(Exception):
    """The command line asks for the help or the version, which is the message."""


def read_argv(argv: list[str], grammar: Grammar) -> tuple[dict[str, Any], list[str]]:
    """Reads a command line as the originals do: values by the names of the flags, defaults
    included, and the arguments behind the options.

    Options come first: the scan ends at the first argument that does not start with a dash, and at
    a lone dash. One character of an option counts, and every option takes the next argument as its
    value. Raises UsageError for an unknown option, a missing value, a value that is no number, and
    too few arguments; TextRequested for a help character, and for --help and --version, which are
    compared whole.
    """
    values = {
        flag.name: flag.default
        for table in (grammar.flags, grammar.long_flags)
        for flag in table.values()
    }
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        option = argv[at]
        if option == "--version":
            raise TextRequested(f"{grammar.program} of svmcut {__version__}\n")
        if option == "--help" or option[1] in grammar.help_characters:
            raise TextRequested(grammar.usage())
        long = option.startswith("--")
        flag = (
            grammar.long_flags.get(option[2:3], grammar.other)
            if long
            else grammar.flags.get(option[1])
        )
        if flag is None:
            raise UsageError(
                "unrecognized option {}; -{} lists the options", option, grammar.help_characters[0]
            )
        if at + 1 == len(argv):
            raise UsageError("option {} needs a value", option)
        values[flag.name] = _convert(option, argv[at + 1], flag.type)
        at += 2
    arguments = argv[at:]
    if len(arguments) < grammar.least:
        raise UsageError(
            "not enough arguments; expected {} [options] {}", grammar.program, grammar.arguments
        )
    return values, arguments


def run_original(grammar: Grammar, work, argv: list[str] | None) -> int:
    """Read the command line, call ``work(values, arguments)`` and return 0 or 1, with one message
    on failure."""

    def run() -> int | None:
        try:
            return work(*read_argv(sys.argv[1:] if argv is None else argv, grammar))
        except TextRequested as asked:
            print(asked, end="")
            return 0

    return guard(run, lambda: grammar.program, statuses=(0, 1), final=argv is None)


def _convert(option: str, text: str, kind: Any) -> Any:
    if kind is str:
        return text
    if not isinstance(kind, type):
        whole = _INTEGER.fullmatch(text) if kind.name == "INTEGER" else None
        try:
            return kind.parse(text if whole is None else whole.group(1))
        except ValueError as error:
            raise UsageError("option {}: {}", option, error) from None
    match = (_INTEGER if kind is int else _DECIMAL).fullmatch(text)
    value = None if match is None else int(match.group(1)) if kind is int else float(text)
    if value is None or not math.isfinite(value):
        expected = "an integer" if kind is int else "a number"
        raise UsageError("option {}: '{}' is refused; expected {}", option, text, expected)
    return value


@record
class Program:
    """One program of an original, which trains or scores models of a task."""

    #: Its entry point has underscores in the place of dashes.
    name: str
    task: str
    #: One sentence.
    summary: str
    trains: bool = True
    #: Of options, where they are not the task's.
    defaults: Mapping[str, Any] = {}
    #: Defaults with a kernel.
    with_kernel: Mapping[str, Any] = {}
    #: Values that no option changes.
    fixed: Mapping[str, Any] = {}
    #: Options that are taken and have no effect.
    ignores: tuple[str, ...] = ()
    #: Options of its own: by one character those with one dash, by a dash and one character those
    #: with two.
    flags: Mapping[str, Flag] = {}
    #: Whether it has the task's options with two dashes.
    long: bool = True
    #: Whether it takes every other option with two dashes, without effect.
    takes_any: bool = False
    #: Whether it reads files as svm_light does.
    of_light: bool = False

    def __call__(self, argv: list[str] | None = None) -> int:
        """Runs it; the exit status."""
        if self.trains:
            return run_original(learn_grammar(self), partial(_learn, self), argv)
        return run_original(classify_grammar(self), partial(_classify, self), argv)


_ROWS = (
    Program(
        "svm_perf_learn",
        task="classification",
        summary="Trains a support vector machine for a performance measure.",
        defaults={"algorithm": 9},
        with_kernel={"bias": 1.0},  # which it refuses with a kernel
    ),
    Program(
        "svm_perf_classify",
        task="classification",
        summary="Scores examples with a model and measures the predictions.",
        trains=False,
        flags={"-d": Flag("dense", int, 1, "no effect")},
        of_light=True,
    ),
    Program(
        "svm_rank_learn",
        task="rank",
        summary="Learns to rank the rows of queries.",
        defaults={"algorithm": 3},
        long=False,
    ),
    Program(
        "svm_rank_classify",
        task="rank",
        summary="Scores examples with a model and counts swapped pairs per query.",
        trains=False,
        of_light=True,
    ),
    Program(
        "svm_proprank_learn",
        task="rank",
        summary="Learns to rank from clicks, each weighed by 1 over its propensity.",
        defaults={"algorithm": 3},
        fixed={"loss": PROPENSITIES},
        long=False,
    ),
    Program(
        "svm_hmm_learn",
        task="sequence",
        summary="Learns to tag the tokens of sequences.",
        defaults={"algorithm": 4},
        # a beam may miss labellings, and a certificate over all of them asks for every state
        ignores=("beam",),
    ),
    Program(
        "svm_hmm_classify",
        task="sequence",
        summary="Tags the tokens of sequences and counts wrong tags.",
        trains=False,
        flags={"-b": Flag("beam", int, 0, "states kept a token; 0 keeps all")},
    ),
    Program(
        "svm_multiclass_learn",
        task="multiclass",
        summary="Learns to tell classes apart, each with weights of its own.",
        defaults={"algorithm": 4},
        with_kernel={"multiclass": MULTICLASS[0]},
        fixed={"bias": 0.0},
        long=False,
        takes_any=True,  # for a loss of the user's own
    ),
    Program(
        "svm_multiclass_classify",
        task="multiclass",
        summary="Predicts classes and counts wrong ones.",
        trains=False,
        takes_any=True,
    ),
)
#: By their entry points.
PROGRAMS = {row.name.replace("-", "_"): row for row in _ROWS}


def __getattr__(name: str) -> Program:
    """The entry point of a program."""
    if name in PROGRAMS:
        return PROGRAMS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _grammar(program: Program, arguments: str, flags: dict[str, Flag], **more: Any) -> Grammar:
    """Options by a character, or a dash and a character."""
    flags = flags | dict(program.flags)
    short = {letter: flag for letter, flag in flags.items() if letter[0] != "-"}
    long = {letter[1:]: flag for letter, flag in flags.items() if letter[0] == "-"}
    other = Flag(IDLE, str, None, "no effect") if program.takes_any else None
    return Grammar(program.name, arguments, program.summary, short, long, other=other, **more)


def classify_grammar(program: Program) -> Grammar:
    """The options that the classifiers share, and those of one."""
    read = "svm_light's verbosity; 1 tells what was read" if program.of_light else "no effect"
    flags = {
        "v": Flag("verbosity", int, 1, "verbosity; 0 prints the measures alone"),
        "y": Flag("light_verbosity", int, 0, read),
    }
    arguments = "example_file model_file [output_file]"
    return _grammar(program, arguments, flags, help_characters="?h")


def learn_grammar(program: Program) -> Grammar:
    """The options of a task that its original knows: those of one letter. Defaults of others stay
    unset."""
    from svmcut.cli.option_texts import list_numbered, options
    from svmcut.spec.catalog import TASKS, losses
    from svmcut.spec.kinds import one_of
    from svmcut.spec.parameters import EPSILON

    known = [loss for loss in losses(program.task).values() if not loss.added]
    own = {"cost": "required", "bias": 1, **program.defaults}
    if TASKS[program.task].gap is not None:  # which their programs do not know
        own.setdefault("epsilon", EPSILON)
    flags: dict[str, Flag] = {}
    for option in options(program.task):
        if option.field in program.fixed:
            continue
        if not option.letter or (option.letter.startswith("--") and not program.long):
            continue
        kind = option.kind.plain or option.kind
        option = option._replace(default=str(own.get(option.field, option.default)))
        if option.field == "loss":
            kind = one_of({loss.name: loss.number for loss in known})
            option = option._replace(help=f"What to minimise: {list_numbered(known)}.")
        if option.field == "beam":
            option = option._replace(
                help="taken; training keeps every state and is exact", default=""
            )
        default = program.defaults.get(option.field)
        flags[option.letter[1:]] = Flag(option.field, kind, default, option.help_with_default)
    return _grammar(program, "example_file [model_file]", flags, least=1)


def _learn(program: Program, values: dict[str, Any], arguments: list[str]) -> int:
    from svmcut.base.resources import measure_parts
    from svmcut.cli.linear_job import run
    from svmcut.cli.options import LearnOptions
    from svmcut.spec.catalog import TASKS
    from svmcut.spec.parameters import task_defaults

    given = {
        name: value
        for name, value in values.items()
        if value is not None and name not in (IDLE, *program.ignores)
    }
    if "cost" not in given:
        raise UsageError("C is missing; give -c")
    usual = program.with_kernel if given.get("kernel", "linear") != "linear" else {}
    values = {
        "command": TASKS[program.task].command,
        "given": frozenset(),
        "original": True,
        **dict(zip(("example_file", "model_file"), arguments)),
        **task_defaults(program.task),
        **usual,
        **given,
        **program.fixed,
    }
    with measure_parts():
        return run(_without_idle_basis(LearnOptions(**values)), original=program.name)


def _without_idle_basis(options: LearnOptions) -> LearnOptions:
    """Removes options that svm_perf_learn ignores: a basis for the linear kernel, a file of vectors
    for none. Raises UsageError where --t does not go with another option, whatever the kernel."""
    from svmcut.base.records import replace
    from svmcut.cli.option_checks import check_basis

    check_basis(options)
    if options.basis_method and options.has_kernel:
        return options
    return replace(options, basis_method=0, basis_file=None)


def _classify(program: Program, values: dict[str, Any], arguments: list[str]) -> None:
    from svmcut.base.resources import usable_cpus
    from svmcut.cli.linear_scores import score_linear
    from svmcut.cli.score_lines import Files, ScoringOptions

    beam = values.get("beam", 0)
    if beam < 0:
        raise UsageError("option --b: {} is refused; expected 0 or more", beam)
    options = ScoringOptions(
        task=program.task,
        verbosity=values["verbosity"],
        threads=usable_cpus(),
        beam=beam,
        light_verbosity=values["light_verbosity"],
        names=Files("example_file", "model_file", "output_file"),
    )
    files = Files(*[*arguments, "svm_predictions"][:3])
    if not score_linear(files, options):
        from svmcut.cli.scoring import run_scoring

        run_scoring(files, options)
