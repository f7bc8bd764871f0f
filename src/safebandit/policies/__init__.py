"""Policies: rules that choose the next arm."""
