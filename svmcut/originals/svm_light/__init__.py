# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn and svm_classify whole: their command lines, machines, estimates and reports."""
