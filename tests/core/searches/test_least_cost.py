"""The least cost of IMED by tangents: the simulator by them, held to the definition arm for arm."""

import pytest

from .. import driving

POLICIES = [
    "safe-imed", "safe-imed:discount=0.7,head_start=200", "safe-imed:evidence=kl",
    "safe-imed:lasting=true,tail=0.25",
    "safe-imed:evidence=kl,discount=1",
]  # fmt: skip


@pytest.mark.parametrize("name", driving.PROBLEMS)
@pytest.mark.parametrize("text", POLICIES)
def test_tangents_give_the_arms_of_the_definition(text, name):
    driving.assert_lockstep(text, name)
