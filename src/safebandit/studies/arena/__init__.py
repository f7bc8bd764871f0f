"""The arena: every policy on a fixed collection of instances, in pairs, and a leaderboard of it all."""

from safebandit.studies.arena.collection import COLLECTION, Entry
from safebandit.studies.arena.run import Arena, run_arena

__all__ = ["COLLECTION", "Arena", "Entry", "run_arena"]
