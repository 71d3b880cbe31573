# SPDX-License-Identifier: BSD-3-Clause
"""Reports for programs: one JSON document."""

from __future__ import annotations

import math

from svmcut.files.output import write_atomically
from svmcut.typing import Any


def write_report(path: str, document: dict[str, Any]) -> None:
    """Write one JSON document; what is not finite becomes null.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    text = report_text(document)
    with write_atomically(path) as output:
        output.write(text.encode("ascii") + b"\n")


def report_text(document: dict[str, Any]) -> str:
    """The JSON of a document; what is not finite becomes null."""
    import json

    return json.dumps(_finite(document), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _finite(value.item())
    return value
