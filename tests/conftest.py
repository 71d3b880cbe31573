# SPDX-License-Identifier: BSD-3-Clause
"""Shared fixtures. Reference data beside the project is used where it exists and never required."""

import signal
from pathlib import Path

import numpy as np
import pytest

# A shell starts background jobs with SIGINT ignored, and programs hand that on: tests of Ctrl-C need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(scope="session")
def shared():
    """The folder of reference data beside the project; the test is skipped where there is none."""
    if not (SHARED / "golden" / "check.py").exists():
        pytest.skip("no reference data beside the project")
    return SHARED


@pytest.fixture
def rng():
    return np.random.default_rng(20060820)
