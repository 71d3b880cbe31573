# SPDX-License-Identifier: BSD-3-Clause
"""The commands and the executables, called in this process or as processes of their own."""

import atexit
import importlib
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from importlib.metadata import entry_points
from pathlib import Path

import click

from svmcut import cli, files, models, risks, solvers, tasks, training
from svmcut.cli import learn
from svmcut.cli.main import svmcut
from svmcut.cli.start import main

# What a program imports as it needs it, so that no fork of this process need.
for _room in (cli, files, models, risks, solvers, tasks, training):
    for _found in pkgutil.walk_packages(_room.__path__, f"{_room.__name__}."):
        importlib.import_module(_found.name)

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
BIN = os.path.dirname(sys.executable)

CLASSIFICATION_LEARNERS = ("svmcut learn", "svm_perf_learn")
RANK_LEARNERS = ("svmcut rank", "svm_rank_learn")
LEARNERS = CLASSIFICATION_LEARNERS + RANK_LEARNERS
CLASSIFIERS = ("svmcut classify", "svm_perf_classify", "svm_rank_classify")

TIMEOUT = 120
"""Seconds for one process; generous, for machines under load."""


def command(program, *words):
    """The command line of a program, installed beside the interpreter."""
    name, *rest = program.split()
    return [os.path.join(BIN, name), *rest, *map(os.fspath, words)]


def entry(name):
    """The function that an executable calls."""
    return entry_points(group="console_scripts")[name].load()


def call(program, *words):
    """Exit status of a program run in this process."""
    name, *rest = program.split()
    words = [*rest, *map(str, words)]
    return main(words) if name == "svmcut" else entry(name)(words)


#: How the last lines of svmcut's own models begin.
SEALS = (b"#@ cost ", b"#@ certificate ", b"#@ crc32 ")


def uncertified(path):
    """The bytes of a model's file without the line of its certificate and checksum, which
    executables leave out."""
    lines = Path(path).read_bytes().splitlines(True)
    return b"".join(line for line in lines if not line.startswith(SEALS))


def run(program, *words, **options):
    """A finished process, its output as text."""
    options = {"capture_output": True, "text": True, "timeout": TIMEOUT} | options
    return subprocess.run(command(program, *words), **options)


def start(program, *words, **options):
    """A process that runs, with pipes on all three standard streams."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command(program, *words), **pipes | options)


def forked(program, *words, cwd=None, stdin=b"", timeout=TIMEOUT):
    """What `run` gives, of a fork of this process: nothing is imported again, and nothing of it is
    left behind.

    Its standard input is a file, or a pipe with so few bytes that it holds them.
    """
    line = command(program, *map(str, words))
    name = program.split()[0]
    body = main if name == "svmcut" else entry(name)
    if not isinstance(stdin, bytes):
        return _copy(line, body, cwd, timeout, stdin.fileno())
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"):
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(stdin)
        return _copy(line, body, cwd, timeout, reader)


def forked_function(line, body, *, cwd=None, timeout=TIMEOUT):
    """What `run` gives, of a function that a program which is not installed calls, in a fork as
    `forked`; line is its command line."""
    with open(os.devnull) as nothing:
        return _copy(line, body, cwd, timeout, nothing.fileno())


def script(path, *words, cwd=None, module=None, timeout=TIMEOUT):
    """A finished Python script, or ``module`` of the folder at ``path``, in a fork of this process
    as `forked`."""
    folder = path if module else Path(path).parent

    def body():
        sys.path.insert(0, str(folder))
        warnings.resetwarnings()  # those of the test are no default of an interpreter
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(str(path), run_name="__main__")

    with open(os.devnull) as nothing:
        return _copy([str(path), *map(str, words)], body, cwd, timeout, nothing.fileno())


def _copy(line, body, cwd, timeout, source):
    """A function with a command line, finished in a fork of this process."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _become(line, body, cwd, (source, output.fileno(), errors.fileno()))
        ends = time.monotonic() + timeout
        late = threading.Timer(timeout, os.kill, (child, signal.SIGKILL))
        late.start()
        _, ended = os.waitpid(child, 0)
        late.cancel()
        if time.monotonic() >= ends:
            raise subprocess.TimeoutExpired(line, timeout)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(line, os.waitstatus_to_exitcode(ended), *texts)


def _become(line, body, cwd, streams):
    """A program with its command line and standard streams, in a child that ends here."""
    status = 1
    atexit._clear()  # of the process that was copied
    try:
        os.chdir(cwd or ".")
        for descriptor, source in enumerate(streams):
            os.dup2(source, descriptor)
        sys.stdin, sys.stdout, sys.stderr = map(open, (0, 1, 2), "rww")
        sys.argv = line
        status = body() or 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


def options_of(words):
    """The options of a command line of learn or rank, as they are read before anything runs."""
    name, *rest = words
    with svmcut.get_command(click.Context(svmcut), name).make_context(name, rest) as context:
        return learn.options_of(context)


def status_of(program, status):
    """The exit status expected of a program where svmcut's is given; the executables know 0 and 1
    only."""
    return status if program.startswith("svmcut") or status == 0 else 1


def benchmark(folder, program, *words, timeout=TIMEOUT):
    """Lines that a benchmark prints, run in a folder; it must succeed."""
    done = script(BENCHMARKS / program, *words, cwd=folder, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
