"""Running a model over a benchmark to record its predictive distributions.

Everything heavy (torch, transformers, lm-eval) is imported only when a run starts; the modules
that need none of them (items, prompts, answers, shards) work without the extra ``collect``.
"""
