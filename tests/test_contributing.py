# SPDX-License-Identifier: BSD-3-Clause
"""The walk-through of CONTRIBUTING.md works as it is written."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_add_a_measure_in_one_file(monkeypatch):
    from svmcut import risks
    from svmcut.data import Csr, Examples, Source
    from svmcut.train import Config, train

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    module_text, registration = blocks
    module = types.ModuleType("svmcut.risks.balanced")
    exec(compile(module_text, "balanced.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "svmcut.risks.balanced", module)
    monkeypatch.setattr(risks, "RISKS", dict(risks.RISKS))
    exec(registration, vars(risks))

    rng = np.random.default_rng(7)
    y = np.where(rng.random(60) < 0.2, 1.0, -1.0)
    bound = risks.make_risk("balanced-error").bind(y)
    for _ in range(20):
        s, other = rng.normal(size=(2, 60)) * 2
        value, coef, offset = bound.linearize(s)
        losses = np.maximum(0, 1 - y * s)
        assert value == pytest.approx(50 * losses[y > 0].mean() + 50 * losses[y < 0].mean())
        assert value == pytest.approx(offset + coef @ s)
        assert bound.linearize(other).value >= offset + coef @ other - 1e-9

    rows = (rng.normal(size=(60, 3)) + y[:, None]).astype(np.float32)
    examples = Examples(Csr.from_dense(rows), y, None, None, Source("rows"))
    assert train(examples, Config(loss="balanced-error", cost=1.0, gap=1e-6)).converged
