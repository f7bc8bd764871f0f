"""Whole studies: the paper reproduced, the arena, and their reports."""
