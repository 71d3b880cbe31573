# SPDX-License-Identifier: BSD-3-Clause
"""The group, its guard, and what starting costs."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from svmcut import __version__
from svmcut.base.errors import DataError, TrainingError, UsageError
from svmcut.cli.commands import COMMANDS
from svmcut.cli.guard import MAX_START_OBJECTS, collect_late, guard
from svmcut.cli.main import svmcut
from svmcut.cli.start import main

ROOT = Path(__file__).resolve().parents[2]


def modules_after(code):
    program = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_help_imports_nothing_heavy():
    loaded = modules_after("from svmcut.cli.start import main; main(['--help'])")
    assert "click" in loaded
    assert not loaded & {"numpy", "scipy", "osqp", "tqdm", "json"}


#: Parts of Python itself that take a tenth of a small run to import.
SLOW = {"enum", "re", "shlex", "threading", "typing"}
#: What only some runs need.
HEAVY = {"click", "scipy", "osqp", "tqdm", "json"}
OF_KERNELS = {
    "svmcut.solvers.smo",
    "svmcut.spaces.kernel",
    "svmcut._native.kernels",
    "svmcut._native.smo",
}
#: What only tables, words, kernel values, classes and thresholds need.
OF_OTHERS = {
    "svmcut._native.words",
    "svmcut.data.precomputed",
    "svmcut.tables.labels",
    "svmcut.models.classes",
    "svmcut.scoring.thresholds",
    "svmcut.tables.encoding",
}


@pytest.mark.parametrize("options", ["", "--task regression -c 1 --gap=1e-4 --threads 1"])
def test_a_plain_run_imports_what_it_uses(options, tmp_path):
    (tmp_path / "x").write_text("1 1:1\n-1 2:1\n")
    line = f"learn {options} {tmp_path}/x {tmp_path}/model"
    loaded = modules_after(f"from svmcut.cli.start import main; assert main('{line}'.split()) == 0")
    assert ("numpy" in loaded) == bool(options)  # small machines of two classes need none
    assert options or not loaded & SLOW
    assert not loaded & (HEAVY | OF_KERNELS | {"svmcut._native.chain", "svmcut.models.chain"})
    assert not loaded & OF_OTHERS
    line = f"classify {tmp_path}/x {tmp_path}/model {tmp_path}/scores"
    loaded = modules_after(f"from svmcut.cli.start import main; assert main('{line}'.split()) == 0")
    rooms = {name.split(".")[1] for name in loaded if name.startswith("svmcut.")}
    assert ("numpy" in loaded) == bool(options)  # two classes are scored without it
    assert "tasks" in rooms
    assert not loaded & (HEAVY | OF_KERNELS) and not rooms & {
        "training",
        "solvers",
        "cutting",
        "spaces",
    }


def test_the_originals_import_neither_click_nor_scipy(tmp_path):
    (tmp_path / "x").write_text("1 1:1\n")
    call = f"svm_perf_classify(['{tmp_path}/x', '{tmp_path}/none'])"
    loaded = modules_after(f"from svmcut.originals.perf import svm_perf_classify; {call}")
    assert "numpy" in loaded
    assert not loaded & {"click", "scipy", "osqp", "tqdm"}


ENDING = """
import atexit, sys, threading
from svmcut.cli.guard import guard
atexit.register(sys.stdout.write, "exit ")
{}
guard(lambda: print("text", end=" ") or 3, str, final=True)
print("back", end=" ")
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", (3, "text exit ")),
        ("sys.setprofile(lambda *_: None)", (0, "text back exit ")),
        ("sys.settrace(lambda *_: None)", (0, "text back exit ")),
        (
            "threading.Timer(0.5, print, ['on'], {'end': ' '}).start()",
            (0, "text back on exit "),
        ),
    ],
    ids=["alone", "profiled", "traced", "with a thread"],
)
def test_a_process_ends_where_nobody_waits_for_it(before, found):
    code = ENDING.format(before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (*found, "")


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="CPU time of a child by wait4")
def test_help_is_cheap():
    programs = os.path.dirname(sys.executable)
    help_, click = (
        [os.path.join(programs, "svmcut"), "--help"],
        [sys.executable, "-c", "import click"],
    )

    def cpu(command):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        return usage.ru_utime + usage.ru_stime

    pairs = [(cpu(help_), cpu(click)) for _ in range(5)]  # by turns: the machine may be busy
    assert min(mine for mine, _ in pairs) <= 2 * min(bare for _, bare in pairs)


@pytest.mark.parametrize(
    ("words", "incomplete", "kind", "found"),
    [
        ([], "cl", "plain", ["classify"]),
        (["learn"], "--check", "plain", ["--checkpoint", "--checkpoint-every"]),
        (["learn", "--solver"], "bs", "plain", ["bsca", "bsgd"]),
        (["learn", "--task", "sequence", "--solver"], "b", "plain", ["bcfw"]),
        (["rank", "-l"], "m", "plain", ["map"]),
        (["learn", "--seed"], "", "plain", []),
        (["learn"], "dat", "file", ["dat"]),
        (["learn", "--report"], "dat", "file", ["dat"]),
        (["classify", "test", "model"], "dat", "file", ["dat"]),
        (["inspect"], "dat", "file", ["dat"]),
        (["scale", "-s"], "dat", "file", ["dat"]),
    ],
)
def test_a_shell_completes_commands_options_names_and_files(words, incomplete, kind, found):
    items = ShellComplete(svmcut, {}, "svmcut", "_SVMCUT_COMPLETE").get_completions(
        words, incomplete
    )
    assert sorted(item.value for item in items) == found
    assert {item.type for item in items} <= {kind}


SHELLS = {
    "bash": """eval "$(_SVMCUT_COMPLETE=bash_source svmcut)"
        COMP_WORDS=(svmcut le) COMP_CWORD=1
        _svmcut_completion svmcut && echo "${COMPREPLY[@]}" """,
    "zsh": """compdef() {}; eval "$(_SVMCUT_COMPLETE=zsh_source svmcut)"
        compadd() { echo "${(P)argv[-1]}" }; _describe() { echo "${(P)argv[3]}" }
        words=(svmcut le) CURRENT=2; _svmcut_completion""",
    "fish": "_SVMCUT_COMPLETE=fish_source svmcut | source; complete -C 'svmcut le'",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_lines_of_the_readme_complete_in_a_shell(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert f"_SVMCUT_COMPLETE={shell}_source svmcut" in SHELLS[shell]
    assert f"_SVMCUT_COMPLETE={shell}_source svmcut" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )
    programs = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    settings = os.environ | {"PATH": programs, "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    done = subprocess.run(
        [shell, "-c", SHELLS[shell]], env=settings, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split()[:1] == ["learn"] or done.stdout.startswith("learn:"), done


@pytest.mark.parametrize("option", ["--help", "-?"])
def test_help_lists_the_commands(option, capsys):
    assert main([option]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_unknown_command(capsys):
    assert main(["bogus"]) == 2
    assert "bogus" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, status, message",
    [
        (DataError("x.dat", "bad", 3, 4), 1, "x.dat:3:4: bad\n"),
        (TrainingError("no way"), 1, "prog: no way\n"),
        (UsageError("not so"), 2, "prog: not so\n"),
        (MemoryError(), 1, "prog: out of memory\n"),
        (OSError(13, "Permission denied", "a"), 1, "prog: Permission denied: a\n"),
        (KeyboardInterrupt(), 130, "prog: interrupted\n"),
        (
            ImportError("libx.so: no room"),
            1,
            "prog: a library cannot be loaded: libx.so: no room\n",
        ),
        (
            ZeroDivisionError("x"),
            1,
            "prog: internal error: ZeroDivisionError: x; SVMCUT_DEBUG=1 shows where\n",
        ),
    ],
)
def test_guard(error, status, message, monkeypatch, capsys):
    monkeypatch.setattr("svmcut.cli.guard._silence_stdout", lambda: None)

    def work():
        raise error

    assert guard(work, lambda: "prog") == status
    assert capsys.readouterr().err == message
    assert guard(work, lambda: "prog", statuses=(0, 1)) == 1


def test_an_error_is_told_where_no_memory_is_left_for_the_options_names(monkeypatch, capsys):
    class Full:
        def find_spec(self, name, *rest):
            if name == "svmcut.cli.advice":
                raise MemoryError

    def work():
        raise DataError("x.dat", "reading it takes 4.2 MB")

    monkeypatch.delitem(sys.modules, "svmcut.cli.advice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Full(), *sys.meta_path])
    assert guard(work, lambda: "prog") == 1
    assert capsys.readouterr().err == "x.dat: reading it takes 4.2 MB\n"


def test_guard_gives_the_handlers_back():
    """To the program it is called in; where the process ends with it, they stay."""
    handlers = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    assert guard(lambda: 0, lambda: "prog") == 0
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == handlers


def test_the_usual_collections_are_back_once_the_start_is_over():
    usual, callbacks, frozen = gc.get_threshold(), list(gc.callbacks), gc.get_freeze_count()
    try:
        collect_late()
        assert gc.get_threshold() == (MAX_START_OBJECTS, *usual[1:])
        gc.collect()
        assert (gc.get_threshold(), gc.callbacks) == (
            usual,
            callbacks,
        ) and gc.get_freeze_count() > frozen
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
