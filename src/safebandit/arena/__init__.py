"""The arena: every policy on a fixed collection of instances, in pairs, and a leaderboard of it all."""

from safebandit.arena.collection import COLLECTION, Entry
from safebandit.arena.run import Arena, run_arena

__all__ = ["COLLECTION", "Arena", "Entry", "run_arena"]
