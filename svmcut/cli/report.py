# SPDX-License-Identifier: BSD-3-Clause
"""Reports for programs: one JSON document."""

from __future__ import annotations

import math

from svmcut.base.messages import hide_secrets
from svmcut.base.typing import Any
from svmcut.files.output import write_atomically


def write_report(path: str, document: dict[str, Any]) -> None:
    """Writes one JSON document; what is not finite becomes null. Raises OutputError if the file
    cannot be written."""
    text = report_text(document)
    with write_atomically(path) as output:
        output.write(text.encode("ascii") + b"\n")


def report_text(document: dict[str, Any]) -> str:
    """JSON of a document; what is not finite becomes null."""
    import json

    return json.dumps(_finite(without_url_secrets(document)), indent=2, allow_nan=False)


def without_url_secrets(document: dict[str, Any]) -> dict[str, Any]:
    """Copy of a document without secrets in URLs."""
    return {
        key: _redact(value) if key in _OF_FILES else value for key, value in document.items()
    } | {
        key: [
            without_url_secrets(item) if isinstance(item, dict) else item for item in document[key]
        ]
        for key in ("path",)
        if key in document
    }


#: Keys whose values name files.
_OF_FILES = ("options", "model", "file", "warnings", "report", "trace", "data", "run")


def _redact(value: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return {key: _redact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact(item) for item in value]
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
