# SPDX-License-Identifier: BSD-3-Clause
"""Model files that are refused, and what is said of them."""

import pytest

from svmcut.base.errors import ModelError
from svmcut.formats import read_model


def refused(path, text, old="", new=""):
    """What is said of a model file of this text, in which `old` is there and stands as `new` the
    first time."""
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        read_model(str(path))
    return str(caught.value)


def check_beginnings(path, text, most):
    """Every beginning of a model file, up to so many characters, is refused."""
    for end in range(most):
        refused(path, text[:end])
