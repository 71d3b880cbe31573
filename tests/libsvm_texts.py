# SPDX-License-Identifier: BSD-3-Clause
"""Texts of LIBSVM's models."""

LIBSVM = """\
svm_type c_svc
kernel_type {kernel}
nr_class 2
total_sv 3
rho -0.5
label -1 1
nr_sv 2 1
SV
0.5 1:0.5 3:-1 
0.25 
-0.75 2:2 3:0.25 
"""  # noqa: W291
