"""Formulas and compiled loops: numbers in, numbers out; no files, no tables."""
