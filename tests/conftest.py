# SPDX-License-Identifier: BSD-3-Clause
"""Shared fixtures. Reference data beside the project is used where it exists and never required."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

# Every interpreter that a test starts would compile all it imports again; BLAS in as many threads
# as there are cores waits for those of the other workers.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
# A shell starts background jobs with SIGINT ignored, and programs hand that on: tests of Ctrl-C
# need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests write, sync and remove thousands of small files, which waits for a disk and not for memory.
MEMORY = "/dev/shm"
HAS_MEMORY = os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > 2 << 30
if HAS_MEMORY and "TMPDIR" not in os.environ:
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


def pytest_addoption(parser):
    parser.addoption(
        "--qp",
        help="the small QP of every run that does not choose its own: a row of "
        "svmcut.spec.catalog.QPS",
    )


def pytest_configure(config):
    if config.getoption("--qp"):
        from svmcut import qp
        from svmcut.spec.catalog import QPS

        if config.getoption("--qp") not in QPS:
            raise pytest.UsageError(
                f"--qp is {config.getoption('--qp')!r}; expected one of {', '.join(QPS)}"
            )
        qp.DEFAULT = config.getoption("--qp")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave all cases but one in so many to the slow suite, where a test is marked so."""
    lists = defaultdict(dict)
    for item in items:
        every = item.get_closest_marker("every")
        if every and place_of(item, lists) % every.args[0]:
            item.add_marker(pytest.mark.slow)


def place_of(item, lists):
    """Add up the places of a case in the lists that its test crosses, of which every value stays in
    some case; lists has what was met of each."""
    values, total = dict(item.callspec.params), 0
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        entry = tuple(id(values.pop(name.strip())) for name in names)
        met = lists[item.parent.nodeid, item.originalname, str(mark.args[0])]
        total += met.setdefault(entry, len(met))
    for name, value in values.items():  # of fixtures
        met = lists[item.parent.nodeid, item.originalname, name]
        total += met.setdefault(id(value), len(met))
    return total


def pytest_collection_finish():
    gc.freeze()  # ten thousand tests live as long as the process; collections need not walk them


@pytest.fixture(autouse=True, scope="session")
def messages_stay_messages():
    """An f-string would word the parameters of a message for good, in Python's words."""
    from svmcut.base.messages import Message

    def refused(self, spec):
        raise AssertionError(
            f"a message stands in an f-string: {str(self)!r}; make it a value of another Message"
        )

    patch = pytest.MonkeyPatch()
    patch.setattr(Message, "__format__", refused, raising=False)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def shared():
    """The folder of reference data beside the project; the test is skipped where there is none."""
    if not (SHARED / "golden" / "check.py").exists():
        pytest.skip("no reference data beside the project")
    return SHARED


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20060820)
