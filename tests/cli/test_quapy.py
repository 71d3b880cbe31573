# SPDX-License-Identifier: BSD-3-Clause
"""QuaPy's own wrapper of svm_perf works unmodified, with svmcut's programs in a folder.

QuaPy is looked for in the interpreter that the environment variable QUAPY_PYTHON names, else in
this one; without it the test is skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
import numpy as np
from quapy.classification.svmperf import SVMperf

rng = np.random.default_rng(0)
y = (rng.random(400) < 0.2).astype(int)
X = rng.normal(size=(400, 5)) + 2.0 * y[:, None] * [1, 0, 0, 1, 0]
found = {}
for loss in SVMperf.valid_losses:
    machine = SVMperf(sys.argv[1], C=100.0, loss=loss).fit(X, y)
    scores, labels = machine.decision_function(X), machine.predict(X)
    assert scores.shape == (400,) and set(labels) <= {0, 1}
    assert ((scores > 0) == (labels == 1)).all()
    found[loss] = [float((labels == y).mean()), float(labels.mean() - y.mean())]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_quapys_wrapper_trains_for_all_its_losses(tmp_path):
    python = os.environ.get("QUAPY_PYTHON", sys.executable)
    known = subprocess.run([python, "-c", "import quapy.classification.svmperf"], check=False)
    if known.returncode:
        pytest.skip("QuaPy is not there")
    for name in ("svm_perf_learn", "svm_perf_classify"):
        (tmp_path / name).symlink_to(Path(sys.executable).parent / name)
    done = subprocess.run(
        [python, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 10
    for loss, (accuracy, excess) in found.items():
        assert loss == "01" or accuracy > 0.8, (loss, accuracy)
        if loss in ("kld", "nkld", "mae", "mrae", "q", "qacc", "qf1", "qgm"):
            assert abs(excess) < 0.1, (loss, excess)
