# SPDX-License-Identifier: BSD-3-Clause
"""The executables with the originals' names: their command lines, their reports, exit status 0 or
1."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING, Any

from svmcut._version import __version__
from svmcut.cli.guard import guard
from svmcut.errors import UsageError
from svmcut.spec.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svmcut.cli.options import LearnOptions

_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_INTEGER = re.compile(r"\s*([+-]?\d+)(\.\d*)?\s*")
#: Of options that are taken for compatibility alone.
IDLE = "idle"


@record
class Flag:
    """One option of an original.

    Attributes
    ----------
    name : str
        Key of the value.
    type : type or Kind
        int, float or str, or a Kind of the table of options. Integers drop what follows a decimal
        point, as the originals do.
    default : object
    help : str
    """

    name: str
    type: Any
    default: Any
    help: str = ""


@record
class Grammar:
    """The command line of an original.

    Attributes
    ----------
    program, arguments : str
        Shown in the usage line.
    summary : str
        One sentence.
    flags, long_flags : mapping of str to Flag
        By the one character that counts: the second of ``-x``, the third of ``--x``.
    help_characters : str
        Second characters that ask for help.
    least : int
        Fewest arguments after the options.
    other : Flag or None
        Every long option that is none of these.
    """

    program: str
    arguments: str
    summary: str
    flags: Mapping[str, Flag]
    long_flags: dict[str, Flag]
    help_characters: str = "?"
    least: int = 2
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
    """Read a command line as the originals do.

    Options come first: the scan ends at the first argument that does not start with a dash, and at
    a lone dash. One character of an option counts, and every option takes the next argument as its
    value.

    Parameters
    ----------
    argv : list of str
        Without the program's name.
    grammar : Grammar

    Returns
    -------
    values : dict
        By the names of the flags, defaults included.
    arguments : list of str
        All that follows the options.

    Raises
    ------
    UsageError
        An unknown option, a missing value, a value that is no number, too few arguments.
    TextRequested
        For a help character, and for --help and --version, which are looked at whole.
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


def svm_perf_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_perf_classify``."""
    dense = {"d": Flag("dense", int, 1, "no effect")}
    summary = "Scores examples with a model and measures the predictions."
    return _classify("svm_perf_classify", summary, "classification", dense, argv)


def svm_rank_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_rank_classify``."""
    summary = "Scores examples with a model and counts swapped pairs per query."
    return _classify("svm_rank_classify", summary, "rank", {}, argv)


def svm_hmm_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_hmm_classify``."""
    beam = {"b": Flag("beam", int, 0, "states kept a token; 0 keeps all")}
    return _classify(
        "svm_hmm_classify",
        "Tags the tokens of sequences and counts wrong tags.",
        "sequence",
        beam,
        argv,
    )


def svm_perf_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_perf_learn``."""
    summary = "Trains a support vector machine for a performance measure."
    return _learn("svm_perf_learn", summary, "classification", 9, argv)


def svm_rank_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_rank_learn``."""
    return _learn("svm_rank_learn", "Learns to rank the rows of queries.", "rank", 3, argv)


def svm_hmm_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_hmm_learn``."""
    return _learn("svm_hmm_learn", "Learns to tag the tokens of sequences.", "sequence", 4, argv)


def svm_multiclass_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_multiclass_learn``."""
    summary = "Learns to tell classes apart, each with weights of its own."
    return _learn("svm_multiclass_learn", summary, "multiclass", 4, argv)


def svm_multiclass_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_multiclass_classify``."""
    summary = "Predicts classes and counts wrong ones."
    return _classify(
        "svm_multiclass_classify",
        summary,
        "multiclass",
        {},
        argv,
        Flag(IDLE, str, None, "no effect"),
    )


def classify_grammar(
    program: str, summary: str, long: dict[str, Flag], other: Flag | None = None
) -> Grammar:
    """What the classifiers share, and the long options of one."""
    of_light = program in ("svm_perf_classify", "svm_rank_classify")
    read = "svm_light's verbosity; 1 tells what was read" if of_light else "no effect"
    short = {
        "v": Flag("verbosity", int, 1, "verbosity; 0 prints the measures alone"),
        "y": Flag("light_verbosity", int, 0, read),
    }
    arguments = "example_file model_file [output_file]"
    return Grammar(program, arguments, summary, short, long, help_characters="?h", other=other)


def learn_grammar(program: str, summary: str, task: str, algorithm: int) -> Grammar:
    """The options of a task that its original knows: those of one letter. Defaults of others stay
    unset."""
    from svmcut.cli.options import numbered, options
    from svmcut.spec.catalog import losses
    from svmcut.spec.kinds import one_of

    known = [loss for loss in losses(task).values() if not loss.added]
    arguments = "example_file [model_file]"
    own = {"cost": "required", "bias": 1, "algorithm": algorithm}
    short: dict[str, Flag] = {}
    long: dict[str, Flag] = {}
    for option in options(task):
        kind = option.kind.plain or option.kind
        default = algorithm if option.field == "algorithm" else None
        option = option._replace(default=str(own.get(option.field, option.default)))
        if option.field == "loss":
            kind = one_of({loss.name: loss.number for loss in known})
            option = option._replace(help=f"What to minimise: {numbered(known)}.")
        if option.field == "beam":
            option = option._replace(
                help="taken; training keeps every state and is exact", default=""
            )
        flag = Flag(option.field, kind, default, option.stated)
        if option.letter:
            (long if option.letter.startswith("--") else short)[option.letter[-1]] = flag
    if task == "rank":
        long = {}
    if task == "multiclass":  # which hands every long option to a loss of the user's own
        idle = Flag(IDLE, str, None, "no effect")
        return Grammar(program, arguments, summary, short, {}, least=1, other=idle)
    return Grammar(program, arguments, summary, short, long, least=1)


def _learn(program: str, summary: str, task: str, algorithm: int, argv: list[str] | None) -> int:
    def work(values: dict[str, Any], arguments: list[str]) -> int:
        from svmcut.cli.options import LearnOptions
        from svmcut.cli.training import run
        from svmcut.resources import watching
        from svmcut.spec.catalog import MULTICLASS
        from svmcut.spec.parameters import task_defaults

        given = {
            name: value for name, value in values.items() if value is not None and name != IDLE
        }
        if "cost" not in given:
            raise UsageError("C is missing; give -c")
        if given.get("kernel", "linear") != "linear" and task == "classification":
            given.setdefault(
                "bias", 1.0
            )  # svm_perf_learn's default, which it refuses with a kernel
        if task == "multiclass":
            given["bias"] = 0.0
            if given.get("kernel", "linear") != "linear":
                given["multiclass"] = MULTICLASS[0]
        if (
            task == "sequence"
        ):  # a beam may miss labellings, and a certificate over all of them asks for every state
            given.pop("beam", None)
        files = dict(zip(("example_file", "model_file"), arguments))
        command = "rank" if task == "rank" else "learn"
        values = {
            "command": command,
            "given": frozenset(),
            "original": True,
            **files,
            **task_defaults(task),
            **given,
        }
        with watching():
            return run(_without_idle_basis(LearnOptions(**values)), original=program)

    return run_original(learn_grammar(program, summary, task, algorithm), work, argv)


def _without_idle_basis(options: LearnOptions) -> LearnOptions:
    """Options without what svm_perf_learn does not look at: a basis for the linear kernel, a file
    of vectors for none.

    Raises
    ------
    UsageError
        Where --t does not go with another option, whatever the kernel.
    """
    from svmcut.cli.option_checks import check_basis
    from svmcut.spec.records import replace

    check_basis(options)
    if options.basis_method and options.has_kernel:
        return options
    return replace(options, basis_method=0, basis_file=None)


def _classify(
    program: str,
    summary: str,
    task: str,
    long: dict[str, Flag],
    argv: list[str] | None,
    other: Flag | None = None,
) -> int:
    def work(values: dict[str, Any], arguments: list[str]) -> None:
        from svmcut.cli.scoring import Files, ScoringOptions, run_scoring
        from svmcut.resources import usable_cpus

        beam = values.get("beam", 0)
        if beam < 0:
            raise UsageError("option --b: {} is refused; expected 0 or more", beam)
        options = ScoringOptions(
            task=task,
            verbosity=values["verbosity"],
            threads=usable_cpus(),
            beam=beam,
            light_verbosity=values["light_verbosity"],
            names=Files("example_file", "model_file", "output_file"),
        )
        run_scoring(Files(*[*arguments, "svm_predictions"][:3]), options)

    return run_original(classify_grammar(program, summary, long, other), work, argv)
