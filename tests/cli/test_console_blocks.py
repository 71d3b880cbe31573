# SPDX-License-Identifier: BSD-3-Clause
"""What README.md and docs/ show in a console is what the programs print."""

import importlib.util
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("svmcut_docs_replay", ROOT / "docs" / "replay.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


replay = load()
PAGE = """\
Text

```console
$ svmcut learn -v 0 -c 1 data/wine.train model
$ svmcut classify -v 0 data/wine.test model scores
...
Accuracy            {accuracy} %
...
$ wc -l <scores
59
```

    svmcut learn -v 0 {option} data/wine.train other

```text
$ svmcut never run
```
"""


@pytest.mark.every(4)
@pytest.mark.parametrize("name", replay.PAGES)
def test_pages_show_what_the_programs_print(name):
    assert replay.replay(name) == []


def texts_of(path):
    root = ElementTree.parse(path).getroot()
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_page_of_pictures_shows_todays_help(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    monkeypatch.setenv("COLUMNS", "88")
    import screens

    assert texts_of(screens.ASSETS / "help.svg") == [line for line in screens.help_lines() if line]
    shown = texts_of(screens.ASSETS / "bar.svg")
    assert shown[0].removeprefix("$ ") == screens.TRAINING and len(shown) == 6
    assert all(
        re.fullmatch(r"training +\d+%\|.+\| gap \S+, target \S+; .*", line) for line in shown[1:]
    )
    pages = [ROOT / "docs" / name for name in ("looks.md", "clusters.md")]
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    assert {path.name for path in screens.ASSETS.iterdir() if path.suffix in (".png", ".svg")} == {
        "icon.svg",
        *re.findall(r"\(assets/([^)]+)\)", page),
    }


def test_the_picture_of_a_terminal_shows_what_the_programs_print(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import terminal

    assert terminal.TARGET.name in (ROOT / "README.md").read_text(encoding="utf-8")
    root = ElementTree.parse(terminal.TARGET).getroot()
    shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    lines = [line for line in terminal.printed() if line]
    assert len(shown) == len(lines) > 20
    assert [pair for pair in zip(shown, lines) if not replay.near(*pair)] == []
    again = ElementTree.fromstring(terminal.picture(["$ a", "", " b  <c>"]))
    texts = ["".join(text.itertext()) for text in again.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["$ a", " b  <c>"]


def test_python_of_a_page_is_run(page):
    path = page("50.01")
    path.write_text("```python\na = 1\n```\n\n```python\nassert a == 2\n```\n")
    with pytest.raises(AssertionError):
        replay.replay("page.md")
    path.write_text(path.read_text().replace("== 2", "== 1"))
    assert replay.replay("page.md") == []


#: Lines of a shell that need more than a test has: a shell to complete in, a scheduler, a package;
#: cc and sqlite3 are run by test_deploy.
SHELL = re.compile(
    r"_SVMCUT_COMPLETE|--scheduler|s3://|dask |DASK_|local:4|--cache /scratch|kubectl |^pip |^ *$"
    r"|^cc |^sqlite3 "
)


@pytest.mark.parametrize("name", replay.PAGES)
def test_code_of_pages_is_run(name):
    """All but commands for a shell that no test has, and text that is not code."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert not {kind for kind, _ in blocks} & {"", "bash", "py", "shell", "zsh"}
    lines = [line for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    assert [line for line in lines if not SHELL.search(line)] == []


def test_readme_shows_every_command_at_work():
    commands = replay.shown((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    for task in (
        "svmcut learn",
        "svmcut rank",
        "svmcut classify",
        "--task sequence",
        "--task multilabel",
        "-t rbf",
    ):
        assert any(task in command for command, _ in commands), task
    assert sum(lines is not None for _, lines in commands) >= 6


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Writes a page of a project with data/."""
    (tmp_path / "data").symlink_to(ROOT / "data", target_is_directory=True)
    monkeypatch.setattr(replay, "ROOT", tmp_path)

    def write(accuracy, option="-c 1"):
        (tmp_path / "page.md").write_text(PAGE.format(accuracy=accuracy, option=option))
        return tmp_path / "page.md"

    return write


def test_a_page_that_shows_other_numbers_is_told_and_mended(page):
    path = page("50.01")
    (fault,) = replay.replay("page.md")
    assert fault.startswith("page.md:5: $ svmcut classify")
    true = next(line for line in fault.splitlines() if "Accuracy" in line).split()[-2]
    assert replay.replay("page.md", write=True) == []
    assert path.read_text() == PAGE.format(accuracy=true, option="-c 1")
    page(f"{float(true) + 0.01:.2f}")
    assert replay.replay("page.md") == []


def test_a_command_that_fails_is_told(page):
    page("50.01", "--no-such-option")
    with pytest.raises(
        RuntimeError, match=r"--no-such-option data/wine\.train other: ended with 2"
    ):
        replay.replay("page.md")


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        (["a 1.00"], ["a 1.01"], True),
        (["a 90.67"], ["a 90.83"], False),
        (["gap 0.22630"], ["gap 0.22323"], False),
        (["gap 2.3e-04"], ["gap 2.4e-04"], True),
        (["7 rows"], ["8 rows"], False),
        (["a", "..."], ["a", "b", "c"], True),
        (["..."], [], True),
        (["a", "...", "c"], ["a", "b", "c", "c"], True),
        (["a", "...", "b", "..."], ["a", "c"], False),
        (["...", "a"], ["a", "b"], False),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        ([], ["a"], False),
        (["a", "...", "a"], ["a"], False),
    ],
)
def test_lines_are_held_against_a_pattern(expected, actual, fits):
    assert (replay.matched(expected, actual) is not None) == fits
