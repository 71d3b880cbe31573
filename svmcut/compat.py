# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's machines by their own names, parameters and attributes, trained by svmcut with a
certificate.

    from svmcut.compat import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

in the place of ``from sklearn.svm import ...``. What has no counterpart is refused with a reason or
said in the class.
"""

from svmcut.estimators.liblinear import LinearSVC, LinearSVR
from svmcut.estimators.libsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
