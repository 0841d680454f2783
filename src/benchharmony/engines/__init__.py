"""Engines: one similarity, three ways to reach it, chosen by the number of items and memory.

Every engine offers the products with S that the sweep is made of (:mod:`.kernel`); the sweep
itself is the same code for all.
"""
