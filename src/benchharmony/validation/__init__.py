"""Validation: benchmarks and generators whose structure is known, to test similarities against."""

#: What a validation can be asked for, in the order of its record.
SECTIONS = (
    "similarities", "combined", "recovery", "k-rules", "sensitivity", "stability", "planted",
)  # fmt: skip
