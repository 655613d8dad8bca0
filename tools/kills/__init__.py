"""Kills of commands: before every file operation, and at random moments."""
