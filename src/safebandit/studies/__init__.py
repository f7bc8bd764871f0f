"""Whole studies, each a run with a report: the paper reproduced, and every policy on one collection of instances."""
