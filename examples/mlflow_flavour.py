# SPDX-License-Identifier: BSD-3-Clause
"""Logs a model of a table to MLflow, whose signature is that of its columns, and loads it again.

log_model("model", "model_file") in a run; mlflow.pyfunc.load_model(uri).predict(frame) then gives
labels. Needs mlflow and pandas, which svmcut does not install.
"""

import mlflow.pyfunc
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, Schema

import svmcut


class SvmcutModel(mlflow.pyfunc.PythonModel):
    """A model file that predicts frames."""

    def load_context(self, context):
        """Reads the model file among the artifacts."""
        self.model = svmcut.load(context.artifacts["model"])

    def predict(self, context, model_input: pd.DataFrame, params=None):
        """The labels of the rows of a frame."""
        return self.model.predict(model_input)


def signature_of(model) -> ModelSignature:
    """The columns that a model takes: numbers, booleans and texts, which may be missing."""
    table = model.model.table
    kinds = {"Number": "double", "Category": "string", "Text": "string"}
    columns = [
        ColSpec(kinds[type(column).__name__], column.name, required=False)
        for column in table.columns
    ]
    answer = "string" if table.words else "double"
    return ModelSignature(Schema(columns), Schema([ColSpec(answer)]))


def log_model(name: str, path: str, requirements=("svmcut",)):
    """Logs the model file at a path in the current run; requirements name svmcut as it is installed
    where the model is to serve, such as a wheel."""
    return mlflow.pyfunc.log_model(
        name,
        python_model=SvmcutModel(),
        artifacts={"model": path},
        signature=signature_of(svmcut.load(path)),
        pip_requirements=[*requirements, "pandas", "pyarrow"],
    )
