"""A language model of a few thousand random weights and its tokenizer, made on the spot."""

from pathlib import Path
from typing import Any

CORPUS = [
    "Question: which river runs through the old town and under the long bridge?",
    "Answer: the green river, said the miller, and the water was cold.",
    "A. the north wind\nB. the south wind\nC. no wind\nD. a storm of sand",
    "Why do ships float on water while stones sink to the ground?",
]


def build_tokenizer(*, bos: bool) -> Any:
    """Return a byte-level BPE tokenizer; with ``bos`` it starts every text with ``<s>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(CORPUS * 5, trainer)
    if bos:
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", raw.token_to_id("<s>"))]
        )
    return PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>")


def build_model(kind: str, vocab_size: int, max_length: int) -> Any:
    """Return a random Llama, a Gemma 3 with a window of 6 tokens, or a GPT-2."""
    import torch
    import transformers

    torch.manual_seed(7)
    shape: dict[str, Any] = {
        "vocab_size": vocab_size,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": max_length,
        "initializer_range": 0.4,  # sharp distributions, or every mistake would be small
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    if kind == "llama":
        config = transformers.LlamaConfig(**shape)
    elif kind == "gemma3":
        config = transformers.Gemma3TextConfig(
            **shape,
            head_dim=8,
            sliding_window=6,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        )
    else:
        config = transformers.GPT2Config(
            vocab_size=vocab_size,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=max_length,
            initializer_range=0.4,
            bos_token_id=0,
            eos_token_id=1,
        )
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def save_model(
    directory: Path, kind: str = "llama", *, bos: bool = False, max_length: int = 256
) -> Path:
    """Write a tiny model and its tokenizer; return the directory."""
    tokenizer = build_tokenizer(bos=bos)
    model = build_model(kind, len(tokenizer), max_length)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
