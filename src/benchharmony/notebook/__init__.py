"""Results in a notebook: tables with a small picture, data frames, charts.

Each class of results takes its methods from one class here; all that is heavy is imported when a
method is called.
"""
