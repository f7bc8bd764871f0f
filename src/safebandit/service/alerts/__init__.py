"""Alerts: who is told, by webhook or e-mail, when a trial holds, waits, stops, is amended or fails verification."""
