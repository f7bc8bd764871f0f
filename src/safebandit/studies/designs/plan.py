"""Which designs are played on which scenarios, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from safebandit.errors import StudyError

if TYPE_CHECKING:
    from safebandit.problems.scenario import Scenario
    from safebandit.trials.design import Design

# A design by itself or by its text, one or several; a mapping has the labels under which they are shown.
Designs: TypeAlias = "Design | str | Sequence[Design | str] | Mapping[str, Design | str]"
Scenarios: TypeAlias = "Scenario | Sequence[Scenario]"


class Planned(NamedTuple):
    """One design that is to be played on one scenario."""

    label: str
    scenario: Scenario
    design: Design


def make_plan(designs: Designs, scenarios: Scenarios) -> list[Planned]:
    """Every design on every scenario; a text gets its arms from the scenario."""
    labelled, truths = label_designs(designs), list_scenarios(scenarios)
    return [
        Planned(label, scenario, design_for(each, scenario)) for scenario in truths for label, each in labelled.items()
    ]


def label_designs(designs: Designs) -> dict[str, Any]:
    """Designs under their labels: those given, else the text, else the title."""
    if isinstance(designs, Mapping):
        labelled = list(designs.items())
    else:
        listed = [designs] if isinstance(designs, str) or not isinstance(designs, Sequence) else list(designs)
        labelled = [(_label(each, number), each) for number, each in enumerate(listed, start=1)]
    names = [label for label, _ in labelled]
    if not names:
        raise StudyError("there must be at least one design, got none")
    for label in names:
        if names.count(label) > 1:
            raise StudyError(f'there are two designs "{label}"; give them as a mapping with a label each')
    return dict(labelled)


def _label(design: Any, number: int) -> str:
    return design if isinstance(design, str) else str(design.title) or f"design {number}"


def list_scenarios(scenarios: Scenarios) -> list[Scenario]:
    """Scenarios whose names differ."""
    listed = list(scenarios) if isinstance(scenarios, Sequence) else [scenarios]
    names = [scenario.name for scenario in listed]
    if not names:
        raise StudyError("there must be at least one scenario, got none")
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f'there are two scenarios "{name}"; give each a name of its own')
    return listed


def design_for(design: Design | str, scenario: Scenario, defaults: Mapping[str, Any] | None = None) -> Design:
    """A design as it is played on a scenario, which must have its arms and risks.

    A text gets its arms there; `defaults` are what it need not say itself.
    """
    from safebandit.trials.designs import design_from_text

    if not isinstance(design, str):
        made = design
    else:
        arms = scenario.instance.arms if scenario.named else len(scenario.instance.arms)
        # Where there are no rewards, a design that can do without has none.
        usual = {} if scenario.rewarded else {"rewarded": False}
        made = design_from_text(design, arms=arms, defaults={**usual, **(defaults or {})})
    made.fit(scenario)
    return made
