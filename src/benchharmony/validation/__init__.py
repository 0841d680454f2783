"""Validation: benchmarks and generators whose structure is known, to test similarities against."""
