# SPDX-License-Identifier: BSD-3-Clause
"""Serves a model of a table: MODEL=model uvicorn serve:app, then POST a list of rows to /predict.

Needs fastapi and uvicorn, which svmcut does not install.
"""

import os

import pyarrow as pa
from fastapi import FastAPI, HTTPException

import svmcut

app, model = FastAPI(), svmcut.load(os.environ["MODEL"])


@app.post("/predict")
def predict(rows: list[dict[str, float | str | bool | None]]) -> list[str | float]:
    """The labels of rows by column."""
    try:
        return list(model.predict(pa.Table.from_pylist(rows)))
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
