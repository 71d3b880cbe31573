# SPDX-License-Identifier: BSD-3-Clause
"""Tags of tokens in columns, whose features a template makes."""

from __future__ import annotations

from collections.abc import Iterator

from svmcut.errors import UsageError
from svmcut.files.conll import TestColumns, how_of, read_conll
from svmcut.spec import refusals
from svmcut.spec.records import replace
from svmcut.tables.templates import Template
from svmcut.tasks.named_sequences import NamedTagging
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.data.examples import Names, Sequences
    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver


class ColumnTagging(NamedTagging):
    """Sequences of tokens in columns, and the names of their tags."""

    def _named(self, path: str, how: dict[str, Any], **known: Any) -> Sequences:
        """`table` of how: the template, and the tokens a feature needs."""
        if known["names"] is None and "table" in how:
            known |= how_of(how["table"])
        return read_conll(path, **known)

    def plan(self, data: Sequences, settings: Settings, time_limit: float | None = None) -> Driver:
        """As Task.plan; a template without a line B leaves transitions out, unless they were asked
        for.

        Raises
        ------
        UsageError
            Also for features of two tags without emissions=1, which every feature has then.
        """
        assert data.names is not None
        template = Template(data.names.template)
        joined = template.joined
        if joined is not None and not settings.emissions:
            raise UsageError(
                "line {} of the template joins features with two tags; begin it with U, or add "
                "{emissions=1}, which joins all features with two tags",
                joined.number,
            )
        if not template.has_transitions and not {"transitions", "emissions"} & settings.wishes():
            settings = replace(settings, transitions=0)
            refusals.check(settings)
        return super().plan(data, settings, time_limit)

    def stream(self, path: str, **how: Any) -> Iterator[Sequences]:
        return how["table"].stream(path)


def test_columns(names: Names, unlabelled: bool, partial: bool) -> TestColumns:
    """What reads files to classify."""
    return TestColumns(names, unlabelled, partial)
