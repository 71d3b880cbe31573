# SPDX-License-Identifier: BSD-3-Clause
"""Examples that hypothesis draws for a test that does not say how many: others in every run."""

from hypothesis import settings

settings.register_profile("suite", max_examples=30, deadline=None)
settings.load_profile("suite")
