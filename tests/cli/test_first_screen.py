# SPDX-License-Identifier: BSD-3-Clause
"""--help is one screen of what most runs need; --help all is the whole."""

import pytest
from programs import forked

from svmcut.cli import learn
from svmcut.cli.options import LEARNT, offered


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("command", "task"), [*(("learn", task) for task in LEARNT), ("rank", "rank")]
)
def test_help_is_one_screen_and_help_all_is_the_whole(command, task):
    words = ["--task", task] if command == "learn" else []
    short = forked(f"svmcut {command}", *words, "--help").stdout
    whole = forked(f"svmcut {command}", *words, "--help", "all").stdout
    assert len(short.splitlines()) <= 50 and max(map(len, short.splitlines())) <= 100
    assert len(whole.splitlines()) > 100
    assert f"svmcut {command} --help all" in short and "Examples:" in short
    flags = {word.strip(",.") for word in short.split() if word.startswith("--")}
    assert flags - {"--help", "--task"} <= {word.strip(",.;:'") for word in whole.split()}


def test_the_screen_names_options_that_exist():
    assert set(learn.TEXTS) <= set().union(*map(offered, (*LEARNT, "rank")))
    assert set(learn.VALUES) <= set(learn.TEXTS)


def test_help_has_colour_on_a_terminal_alone(monkeypatch):
    assert "\x1b[" not in forked("svmcut learn", "--help").stdout
    import click

    from svmcut.cli.panels import HelpFormatter

    def text():
        formatter = HelpFormatter()
        with formatter.section("Options"):
            formatter.write_dl([("--gap", "stop")])
        return formatter.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in text() and click.unstyle(text()) == "Options:\n  --gap  stop\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert text() == "Options:\n  --gap  stop\n"
