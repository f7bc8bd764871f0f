"""What the shell offers when a name is half typed."""

from __future__ import annotations


def complete_policy(incomplete: str) -> list[str]:
    """The policies whose names begin with what was typed."""
    from safebandit.core.policies import POLICIES

    return [name for name in POLICIES if name.startswith(incomplete)]


def complete_instance(incomplete: str) -> list[str]:
    """The instances whose names begin with what was typed."""
    from safebandit.problems import NAMED

    return [name for name in NAMED if name.startswith(incomplete)]


def complete_arena(incomplete: str) -> list[str]:
    """The arena's instances whose names begin with what was typed."""
    from safebandit.studies.arena.collection import COLLECTION

    return [name for name in COLLECTION if name.startswith(incomplete)]
