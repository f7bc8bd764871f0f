"""Lines over log t: the simulator by them, held to the definition arm for arm."""

import pytest

from .. import driving

POLICIES = [
    "docb", "docb:level=theory", "klbayes", "joint-kl", "joint-kl:head_start=300", "empirical-kl:bins=12",
    "bayes-upper+bayes-lower:each_first=false", "hoeffding-upper+hoeffding-lower",
    "variance-upper+variance-lower:reward.zeta=0.5", "betting-upper+betting-lower:reward.grid=16",
]  # fmt: skip


@pytest.mark.parametrize("name", driving.PROBLEMS)
@pytest.mark.parametrize("text", POLICIES)
def test_lines_give_the_arms_of_the_definition(text, name):
    driving.assert_lockstep(text, name)
