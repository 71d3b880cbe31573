# SPDX-License-Identifier: BSD-3-Clause
"""Syntax trees of modules, which several tests read."""

import ast
import functools


@functools.cache
def tree_of(path):
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(path):
    """Every node of it."""
    return list(ast.walk(tree_of(path)))
