"""What version 0.8.0 wrote with `joint-dirichlet`: chances were estimated that are integrated now."""

import gzip
from pathlib import Path

from safebandit import Trial

WRITTEN = Path(__file__).parent / "version_0_8_0"
DRAWN = "estimated from 1001 draws, this decision among them"


def written():
    return gzip.decompress((WRITTEN / "trial-joint-dirichlet.json.gz").read_bytes()).decode()


def test_a_log_of_estimated_chances_is_verified_in_every_number_and_gone_on_with():
    trial = Trial.from_json(written())
    noted = [event.content["propensities"] for event in trial.log if event.kind == "asked"]
    assert trial.log[0].content["software"] == "0.8.0"
    assert len(noted) > 200
    assert set(noted) == {DRAWN}
    assert trial.verify().holds
    assert trial.replay() == []
    trial.ask()
    assert trial.log[-1].content["propensities"] == "integrated, right to 1e-06"
    assert trial.verify().holds
