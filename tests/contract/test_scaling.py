# SPDX-License-Identifier: BSD-3-Clause
"""All features times a power of two, and C by its square, is the same problem to the last bit: no
solver knows a size.

So nothing would be gained by scaling inside: rounding is relative, and no threshold of a solver is
absolute.
"""

import numpy as np
import pytest

import svmcut

RUNS = {
    "auto": {"example_cost": 1.0, "gap": 1e-6},
    "cutting-plane": {"solver": "cutting-plane", "example_cost": 1.0, "gap": 1e-6},
    "dual-cd": {"solver": "dual-cd", "example_cost": 1.0, "gap": 1e-6},
    "newton": {"solver": "newton", "example_cost": 1.0, "gap": 1e-6},
    "smo": {"solver": "smo", "kernel": "linear", "example_cost": 1.0, "gap": 1e-6},
    "f1": {"loss": "f1", "cost": 1.0, "gap": 1e-4},
    "roc-area": {"loss": "roc-area", "cost": 1.0, "gap": 1e-4},
    "average-precision": {"loss": "average-precision", "cost": 1.0, "gap": 1e-4},
    "prbep": {"loss": "prbep", "cost": 1.0, "gap": 1e-4},
    "rank": {"task": "rank", "cost": 1.0, "gap": 1e-5},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_power_of_two_times_all_features_changes_no_bit(rng, name):
    X = rng.normal(size=(200, 8)).astype(np.float32)
    s = X[:, 0] + 0.5 * rng.normal(size=200)
    data = (X, np.digitize(s, [-1, 0, 1]).astype(float), np.arange(200) // 20)
    if "task" not in RUNS[name]:
        data = (X, np.where(s > 0, 1.0, -1.0))

    def trained(scale):
        words = (
            {"bias": 1.0, **RUNS[name]}
            if "task" not in RUNS[name] and name != "smo"
            else dict(RUNS[name])
        )
        for key, power in (("cost", -2), ("example_cost", -2), ("bias", 1)):
            if key in words:
                words[key] *= scale**power
        outcome = svmcut.train((X * np.float32(scale), *data[1:]), **words)
        assert outcome.converged
        return outcome.progress.iteration, outcome.primal * scale**2, outcome.dual * scale**2

    assert trained(1.0) == trained(2.0**18) == trained(2.0**-18)
