# SPDX-License-Identifier: BSD-3-Clause
"""Shared fixtures. Reference data beside the project is used where it exists and never required."""

import gc
import os
import signal
import sys
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
