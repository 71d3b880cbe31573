# SPDX-License-Identifier: BSD-3-Clause
"""The files and options of a run of classify, and the lines it prints."""

from __future__ import annotations

from svmcut.base.messages import escape
from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.output import File, check_roles
from svmcut.spec.parameters import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.scoring.measures import Measures
    from svmcut.tasks.presentation import Presentation


class Files(NamedTuple):
    """Files of a run."""

    examples: str
    model: str
    predictions: str


#: How a command line names them.
NAMES = Files("EXAMPLE_FILE", "MODEL_FILE", "PREDICTIONS_FILE")


@record
class ScoringOptions:
    """Options of a run; those without a comment are as of classify."""

    #: Task whose measures are printed; None leaves it to the model and the file: ranking if the
    #: file has queries.
    task: str | None = None
    #: 0 prints only the measures, 2 adds the contingency table.
    verbosity: int = 1
    threads: int = 1
    labels: bool = False
    probability: bool = DEFAULTS["probability"]
    unlabelled: bool = False
    scheme: str | None = None
    n_best: int = 0
    top: int = 0
    propensity: tuple[float, float] | None = None
    label_names: str | None = None
    confidence: bool = False
    partial: bool = False
    #: "plain", "original", or None: the original's lines if a task is given, else plain words.
    format: str | None = None
    report: str | None = None
    beam: int = 0
    #: From 1 on the lines of svm_light's readers are printed too, if the task has them.
    light_verbosity: int = 0
    zero_based: bool = DEFAULTS["zero_based"]
    input: str | None = None
    progress: bool | None = None
    certify: bool = False
    bounds: str | None = None
    #: Names of the three files in messages.
    names: Files = NAMES

    def say(self, text: str = "", end: str = "\n") -> None:
        """Prints what is more than measures; under svmcut's own name from verbosity 2 on."""
        if self.verbosity >= (2 if self.is_own else 1):
            print(text, end=end, flush=True)

    @property
    def is_own(self) -> bool:
        """True unless the lines of an original are asked for."""
        return self.task is None and self.format != "original"

    def say_as_svm_light(self, text: str) -> None:
        """Prints what svm_light's readers print."""
        from svmcut.tasks.protocol import presentation

        if self.light_verbosity >= 1 and self.task and presentation(self.task).of_light:
            print(text, flush=True)

    def present(self, task: str) -> Presentation:
        """Lines of a task: the original's if one was given."""
        from svmcut.tasks.protocol import presentation

        return presentation(task, self.task is not None)

    def is_plain(self, shown: Presentation) -> bool:
        """True if measures are printed in plain words."""
        return (
            shown.has_plain and (self.format or ("original" if self.task else "plain")) == "plain"
        )


def check_files(
    files: Files, options: ScoringOptions, spread: Sequence[Sequence[str]] = ()
) -> list[File]:
    """Files that are written, none of which is read; raises UsageError if one is. `spread` are
    files and targets of workers, in place of the examples and predictions."""
    *inputs, output = map(File, options.names, files)
    outputs = [output]
    if options.label_names is not None:
        inputs.append(File("--label-names", options.label_names))
    if spread:
        inputs += [File(options.names.examples, path) for path in spread[0]]
        outputs = [File(options.names.predictions, path) for path in spread[1]]
    outputs += [] if options.report is None else [File("--report", options.report)]
    outputs += [] if options.bounds is None else [File("--bounds", options.bounds)]
    check_roles(inputs, outputs)
    return outputs


def print_lines(
    shown: Presentation,
    predicted: Any,
    measured: Measures | None,
    scorer: Any,
    options: ScoringOptions,
) -> None:
    """Prints what follows the predictions: seconds and measures."""
    tally = predicted.tally
    plain = options.is_plain(shown)
    details = ""
    if options.verbosity > 1 and measured and not plain:
        details = shown.details(tally, measured)
    options.say(f"Classifying test examples...{details}done")
    options.say(f"Runtime (without IO) in cpu-seconds: {predicted.cpu_seconds:.2f}")
    if options.verbosity >= 1 and (noise := shown.noise(scorer)):
        print(noise, end="", flush=True)
    if options.certify and predicted.certifier is not None:
        print(predicted.certifier.summary(), end="", flush=True)
    if not measured:
        if options.is_own and options.verbosity >= 1:
            print(f"{tally.counts()['examples']} predictions written", flush=True)
        return
    if not plain and options.verbosity >= 1:
        print(shown.losses(measured), end="", flush=True)
    text = shown.plain(tally, measured, scorer) if plain else shown.measures(measured)
    print(escape(text + shown.table(tally), lines=True), end="", flush=True)
