# SPDX-License-Identifier: BSD-3-Clause
"""Reports for programs: one JSON document."""

from __future__ import annotations

import math

from svmcut.base.messages import without_secrets
from svmcut.base.typing import Any
from svmcut.files.output import write_atomically


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

    return json.dumps(_finite(shown(document)), indent=2, allow_nan=False)


def shown(document: dict[str, Any]) -> dict[str, Any]:
    """A document that shows no secrets of URLs."""
    return {
        key: _without_secrets(value) if key in _OF_FILES else value
        for key, value in document.items()
    } | {
        key: [shown(item) if isinstance(item, dict) else item for item in document[key]]
        for key in ("path",)
        if key in document
    }


#: Keys whose values name files.
_OF_FILES = ("options", "model", "file", "warnings", "report", "trace", "data", "run")


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in value]
    return value


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
