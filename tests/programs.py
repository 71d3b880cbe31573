# SPDX-License-Identifier: BSD-3-Clause
"""The commands and the executables, called in this process or as processes of their own."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import click

from svmcut.cli import originals
from svmcut.cli.learn import collected
from svmcut.cli.main import svmcut
from svmcut.cli.start import main

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


def call(program, *words):
    """Exit status of a program run in this process."""
    name, *rest = program.split()
    words = [*rest, *map(str, words)]
    return main(words) if name == "svmcut" else getattr(originals, name)(words)


def run(program, *words, **options):
    """A finished process, its output as text."""
    options = {"capture_output": True, "text": True, "timeout": TIMEOUT} | options
    return subprocess.run(command(program, *words), **options)


def start(program, *words, **options):
    """A process that runs, with pipes on all three standard streams."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command(program, *words), **pipes | options)


def forked(program, *words, cwd=None, timeout=TIMEOUT):
    """What `run` gives, of a fork of this process: nothing is imported again, and nothing of it is left behind."""
    line = command(program, *map(str, words))
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _become(line, cwd, output, errors)
        ends = time.monotonic() + timeout
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > ends:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise subprocess.TimeoutExpired(line, timeout)
            time.sleep(0.002)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(line, os.waitstatus_to_exitcode(ended[1]), *texts)


def _become(line, cwd, output, errors):
    """The program of a command line, in a child that ends here."""
    status = 1
    try:
        os.chdir(cwd or ".")
        sources = (os.open(os.devnull, os.O_RDONLY), output.fileno(), errors.fileno())
        for descriptor, source in enumerate(sources):
            os.dup2(source, descriptor)
        sys.stdin, sys.stdout, sys.stderr = map(open, (0, 1, 2), "rww")
        sys.argv, name = line, os.path.basename(line[0])
        status = main() if name == "svmcut" else getattr(originals, name)()
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
        return collected(context)


def status_of(program, status):
    """The exit status expected of a program where svmcut's is given; the executables know 0 and 1 only."""
    return status if program.startswith("svmcut") or status == 0 else 1


def benchmark(folder, program, *words):
    """Lines that a benchmark prints, run in a folder; it must succeed."""
    line = [sys.executable, str(BENCHMARKS / program), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
