# SPDX-License-Identifier: BSD-3-Clause
"""The suite itself: which cases the marker `every` leaves to the slow tests."""

import pytest


@pytest.mark.every(2)
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize(("b", "square"), [(0, 0), (1, 1), (2, 4)])
def test_cases_between_are_slow_and_no_value_of_a_list_is_lost(request, a, b, square):
    assert square == b * b
    assert (request.node.get_closest_marker("slow") is not None) == ((a + b) % 2 == 1)
