# SPDX-License-Identifier: BSD-3-Clause
"""skl2onnx converts machines of svmcut once svmcut.estimators.onnx is imported."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmcut
from svmcut import compat
from svmcut.base.errors import UsageError

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("svmcut.estimators.onnx")
pytestmark = pytest.mark.filterwarnings("ignore")
CLASSES = (svmcut.LinearSVM, compat.LinearSVC, compat.SVC, compat.NuSVC)
NUMBERS = (compat.LinearSVR, compat.SVR, compat.NuSVR)


def outputs(machine, X, **options):
    made = skl2onnx.to_onnx(machine, X[:1], options=options and {id(machine): options})
    session = runtime.InferenceSession(made.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: X})


def data(K):
    rng = np.random.default_rng(K)
    X = rng.normal(size=(90, 4)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int) + (K == 3) * (X[:, 1] > 0.2)
    return X, y


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", CLASSES)
def test_classes_and_scores_are_those_of_the_machine(kind, K):
    X, y = data(K)
    machine = kind(**{"nu": 0.2} if kind is compat.NuSVC else {})
    machine.fit(X, np.array(["a", "b", "c"])[y])
    label, scores = outputs(machine, X, raw_scores=True, zipmap=False)
    assert (label == machine.predict(X)).all()
    wanted = machine.decision_function(X)
    found = scores[:, -1] if wanted.ndim == 1 else scores
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_those_of_the_machine(kind):
    X, y = data(3)
    machine = kind().fit(X, y + X[:, 2])
    (found,) = outputs(machine, X)
    np.testing.assert_allclose(found.ravel(), machine.predict(X), atol=1e-5)


def test_probabilities_and_pipelines_are_converted():
    X, y = data(2)
    machine = compat.SVC(probability=True, random_state=0).fit(X, y)
    _, found = outputs(machine, X, zipmap=False)
    # the runtime couples pairs as LIBSVM does, up to 0.005 / K
    np.testing.assert_allclose(found, machine.predict_proba(X), atol=0.005)
    line = make_pipeline(StandardScaler(), svmcut.LinearSVM()).fit(X, y)
    assert (outputs(line, X)[0] == line.predict(X)).all()
    one = compat.OneClassSVM(nu=0.2).fit(X)
    assert (outputs(one, X)[0].ravel() == one.predict(X)).all()


def test_linear_machines_with_probabilities_are_refused():
    X, y = data(2)
    with pytest.raises(UsageError, match="svmcut export"):
        outputs(svmcut.LinearSVM(probability=True).fit(X, y), X)
