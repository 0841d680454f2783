"""A report for other tools: tables, model cards, harness results, CI and experiment trackers.

Each module turns a report (or its record) into one thing; nothing is imported before it is asked
for. docs/exports.md shows each.
"""
