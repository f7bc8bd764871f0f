"""What the pictures of behaviour show: policies and designs as people write them, truths for rules, and captions."""

from __future__ import annotations

from typing import Any

HORIZON, TRIALS, SEED = 2_000, 200, 1
DRUG_TRIAL = "drug-trial"
LINEAR = ("linear", "doss", "colts", "safe-lts", "safe-lucb")
TARGET = 0.25
CAPTIONS = {
    "policy": f"{TRIALS} simulated trials of {HORIZON:,} units each, beside `tsbu` and equal randomisation, on the "
    "paper's drug trial (policies that go by features: on eleven doses with linear effects). Hatched: arms whose risk "
    "is above alpha.",
    "design": "1,000 simulated trials on five doses, of harms .12 .25 .42 .49 .55 and efficacies .2 .35 .45 .5 .5, "
    "with the target .25, beside equal randomisation of 36 units. Hatched: doses whose risk is above the target.",
    "stopping": "1,000 simulated trials of at most 90 units, equally randomised to three arms. Left: on a truth in "
    "which the rule should be reached and on one in which it should not. Right: units per arm on the first, with the "
    "rule and without.",
    "selection": "What is selected at the end of 1,000 simulated trials on five doses, beside `best-safe` on the same "
    "data, or beside equal randomisation for a rule that belongs to one design. Hatched: doses whose risk is above the "
    "target.",
}
CAPTIONS["reward"] = CAPTIONS["policy"].replace("each, beside", "each with the gate `bayes-lower`, beside")
CAPTIONS["safety"] = CAPTIONS["policy"].replace("each, beside", "each with Thompson sampling, beside")

# What must be told beyond the name, for trials of this size.
POLICY_TEXTS = {
    "bwk": "bwk:units=2000",
    "con-lcb": "con-lcb:units=2000",
    "pess": "pess:safe_arm=0",
    "conservative": "conservative:baseline=0",
}
INDEX_TEXTS = {
    "planned-upper": "planned-upper+bayes-lower:reward.units=2000",
    "radius-upper": "radius-upper+bayes-lower:reward.units=2000,reward.arms=5",
    "slack-upper": "slack-upper+bayes-lower:reward.units=2000,reward.arms=5,reward.slack=0.05",
    "planned-lower": "thompson+planned-lower:safety.units=2000",
    "radius-lower": "thompson+radius-lower:safety.units=2000,safety.arms=5",
    "slack-upper-risk": "thompson+slack-upper-risk:safety.units=2000,safety.arms=5",
}
DESIGN_TEXTS = {
    "equal": "equal:units=36,ordered=true",
    "three-plus-three": "three-plus-three",
    "boin": "boin:target=.25,units=36",
    "boin12": "boin12:tolerated=.25,wanted=.2,units=36",
    "crm": "crm:target=.25,units=36",
    "mtpi": "mtpi:target=.25,units=36",
    "rar": "rar:units=36,floor=.1",
    "safe": "safe:units=36",
    "dose-ts": "dose-ts:target=.25,units=36",
    "md-apt": "md-apt:units=36",
    "md-ucbe": "md-ucbe:units=36",
    "md-sar": "md-sar:units=36",
    "tf-lucb": "tf-lucb:units=400",
}
# Rules by what they ask, with what must be told, and the two truths (rewards, risks): reached, and not.
HARM = (((0.4, 0.5, 0.6), (0.4, 0.5, 0.6)), ((0.4, 0.5, 0.6), (0.1, 0.2, 0.3)))
FUTILITY = (((0.1, 0.1, 0.1), (0.1, 0.1, 0.1)), ((0.4, 0.5, 0.6), (0.1, 0.1, 0.1)))
BETTER = (((0.2, 0.4, 0.7), (0.1, 0.1, 0.1)), ((0.4, 0.4, 0.4), (0.1, 0.1, 0.1)))
# Evidence takes more units, or clearer truths.
CLEAR_HARM = (((0.4, 0.5, 0.6), (0.7, 0.7, 0.7)), HARM[1])
CLEAR_FUTILITY = (((0.02, 0.02, 0.02), (0.1, 0.1, 0.1)), FUTILITY[1])
CLEAR_BETTER = (((0.1, 0.2, 0.9), (0.1, 0.1, 0.1)), BETTER[1])
STOPPING: dict[str, tuple[str, Any]] = {
    "arm-futility": ("arm-futility:least_reward=.3,confidence=.9", FUTILITY),
    "arm-futility-e": ("arm-futility-e:least_reward=.3", CLEAR_FUTILITY),
    "arm-harm": ("arm-harm:confidence=.9", HARM),
    "arm-harm-e": ("arm-harm-e", CLEAR_HARM),
    "behind": ("behind:confidence=.95", BETTER),
    "behind-e": ("behind-e", CLEAR_BETTER),
    "enough": ("enough:units=20", BETTER),
    "equivalence": ("equivalence:difference=.3,level=.8", (BETTER[1], BETTER[0])),
    "futility": ("futility:least_reward=.3,confidence=.9", FUTILITY),
    "futility-e": ("futility-e:least_reward=.3", CLEAR_FUTILITY),
    "harm": ("harm:confidence=.9", HARM),
    "harm-e": ("harm-e", CLEAR_HARM),
    "harm-share": ("harm-share:share=.35", HARM),
    "inferiority": ("inferiority:level=.95", BETTER),
    "precision": ("precision:width=.35", BETTER),
    "superiority": ("superiority:level=.95", BETTER),
    "superiority-e": ("superiority-e", CLEAR_BETTER),
    "too-many-harms": ("too-many-harms:harms=12", HARM),
}
SELECTION = {
    "best-probability": "best-probability",
    "best-safe": "best-safe:confidence=.9",
    "isotonic": "isotonic",
    "utility": "utility",
}
# Rules that know the model of one design, by that design.
SELECTION_OF = {
    "crm-dose": "crm",
    "three-plus-three-dose": "three-plus-three",
    "ts-dose": "dose-ts",
    "top-feasible": "md-apt",
}


def pictured(kind: str, name: str) -> bool:
    """Whether there is anything to see."""
    return (kind, name) != ("selection", "none")


def policy_text(name: str, kind: str = "policy") -> str:
    """A policy as people write it, or one that has the index of this name."""
    if kind == "policy":
        return POLICY_TEXTS.get(name, name)
    return INDEX_TEXTS.get(name, f"{name}+bayes-lower" if kind == "reward" else f"thompson+{name}")
