# SPDX-License-Identifier: BSD-3-Clause
"""Command lines that are read_words without click mean what click makes of them."""

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmcut.cli.commands import plain_run, read_words
from svmcut.cli.main import svmcut
from svmcut.cli.options import LEARNT, rows
from svmcut.cli.score_lines import SCORING
from svmcut.cli.start import main

FILES = {"classify": ("example_file", "model_file", "predictions_file")}
TABLES = [
    ("classify", "", SCORING),
    ("rank", "rank", rows("rank")),
    *(("learn", task, rows(task)) for task in LEARNT),
]
VALUES = (
    "1",
    "0.5",
    *("-1", "0.1,1,10", "0.5,1.5", "rbf", "2", "newton", "auto", "tcp://a:1", "2G", "1h", "nan"),
    *("1=5", "", "-", "file"),
)
ODD = (
    *("--", "-?", "--help", "-h", "--none", "-c20", "-c=1", "--gap=", "--quick=1", "--seed=3"),
    *("--k", "--k=9", "-v0"),
)


def by_click(command, words):
    """What click reads, None of what it refuses or answers."""
    made = svmcut.get_command(click.Context(svmcut), command)
    try:
        with made.make_context(command, list(words)) as context:
            return {name: value for name, value in context.params.items() if value is not None}
    except (click.ClickException, click.exceptions.Exit):
        return None


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("command", "task", "table"),
    TABLES,
    ids=[task or command for command, task, _ in TABLES],
)
def test_a_line_that_is_read_without_click_is_read_as_click_would(command, task, table):
    flags = [flag for row in table for spelt in row.flags for flag in spelt.split("/")]
    option = st.tuples(st.sampled_from(flags), st.sampled_from(VALUES))
    words = st.lists(
        st.one_of(option, st.tuples(st.sampled_from((*VALUES, *flags, *ODD)))), max_size=4
    )
    files, least = FILES.get(command, ("example_file", "model_file")), 1 + (command == "classify")
    head = ["--task", task] if command == "learn" else []
    defaults = {"predictions_file": "svm_predictions"} if command == "classify" else {}

    @settings(max_examples=25, deadline=None)
    @given(words)
    def same(drawn):
        line = [*head, "train", *(word for part in drawn for word in part), "model"]
        found = read_words(line, table, files, least)
        assert found is None or defaults | found == by_click(command, line)

    same()
    for row in table:  # none is left to click
        for flag in (flag for spelt in row.flags for flag in spelt.split("/")):
            values = [(), *((value,) for value in (*VALUES, *row.kind.words))]
            assert any(
                read_words([*head, flag, *value, "train", "model"], table, files, least)
                for value in values
            )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["learn"],
        ["bogus"],
        ["--version"],
        ["learn", "a", "b", "c"],
        ["learn", "--help", "a"],
        ["classify", "a"],
        ["scale", "a"],
    ],
)
def test_what_is_refused_or_asks_for_help_is_left_to_click(words):
    assert plain_run(words) is None


def test_completion_is_left_to_click(monkeypatch):
    assert plain_run(["learn", "train"]) is not None
    monkeypatch.setenv("_SVMCUT_COMPLETE", "bash_complete")
    assert plain_run(["learn", "train"]) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learn", "none"], "none: No such file"),
        (["learn", "-c", "x", "none"], "svmcut learn: option --cost: 'x' is not a number above 0"),
        (["--", "bogus"], "svmcut: no such command 'bogus'; svmcut --help lists the commands"),
    ],
)
def test_messages_name_the_command(words, said, capsys):
    assert main(words) in (1, 2)
    assert said in capsys.readouterr().err
