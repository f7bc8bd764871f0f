"""Whole studies, each a run with a report: the paper, every policy on one collection, a policy for a trial's size."""
