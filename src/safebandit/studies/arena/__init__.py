"""The arena: every policy on a fixed collection of instances, in pairs, and a leaderboard of it all."""

from safebandit.studies.arena.collection import COLLECTION, Member
from safebandit.studies.arena.run import Arena, Board, run_arena

__all__ = ["COLLECTION", "Arena", "Board", "Member", "run_arena"]
