"""Loading a language model, and what is recorded about it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    import torch

#: What to say when the optional packages are missing.
INSTALL = "needs packages that are not installed: pip install 'benchharmony[collect]'"

#: Used where neither model nor tokenizer tells its longest input (as lm-eval does).
DEFAULT_MAX_LENGTH = 2048

#: Above this a tokenizer's limit means "none".
_NO_LIMIT = 10**12

_SIZE = re.compile(r"[-_. ]?\d+(?:\.\d+)?\s?[mMbBkK](?=$|[-_. ])")


@dataclass
class LoadedModel:
    """A causal language model, ready to run.

    Attributes
    ----------
    model, tokenizer
        As transformers gives them.
    name : str
        What outputs call the model.
    device : torch.device
        Where it runs.
    max_length : int
        Longest input in tokens.
    facts : dict
        What is recorded: id, revision, parameters, family, architecture, dtype, device.
    """

    model: Any
    tokenizer: Any
    name: str
    device: torch.device
    max_length: int
    facts: dict[str, Any]

    @property
    def window(self) -> int | None:
        """Sliding attention window in tokens, where a layer has one."""
        window = getattr(self.text_config, "sliding_window", None)
        types = self.layer_types
        if types is not None and "sliding_attention" not in types:
            return None
        return int(window) if window else None

    @property
    def layer_types(self) -> set[str] | None:
        """Kinds of attention among the layers, where the configuration lists them."""
        types = getattr(self.text_config, "layer_types", None)
        return set(types) if types else None

    @property
    def text_config(self) -> Any:
        """Configuration of the language part."""
        return getattr(self.model.config, "text_config", None) or self.model.config

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return logits of last hidden states, shape (r, d) to (r, v), float32."""
        logits = self.model.get_output_embeddings()(hidden).float()
        cap = getattr(self.text_config, "final_logit_softcapping", None)
        return (logits / cap).tanh().mul_(cap) if cap else logits


def load_model(
    model: str,
    *,
    gguf: str | None = None,
    name: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Load a model and its tokenizer.

    Parameters
    ----------
    model : str
        Hub id, local directory, or path of a GGUF file.
    gguf : str, optional
        GGUF file: a path, or the name of a file in ``model``.
    name : str, optional
        What outputs call the model; by default the hub id or the last part of the path.
    dtype : str
        "auto" is float32 on a CPU and the checkpoint's own elsewhere.
    device : str
        "auto" takes CUDA, then MPS, then the CPU.
    revision : str, optional
        Branch, tag or commit of the hub repository (training checkpoints, for instance).
    trust_remote_code : bool
        Whether the repository's own code may run.

    Raises
    ------
    BenchharmonyError
        When packages are missing or nothing can be loaded under that name.
    """
    torch, transformers = _libraries()
    place, file = _locate(model, gguf)
    where = _device(torch, device)
    options: dict[str, Any] = {"revision": revision, "trust_remote_code": trust_remote_code}
    if file is not None:
        options["gguf_file"] = file
    chosen = ("float32" if where.type == "cpu" else "auto") if dtype == "auto" else dtype
    if chosen != "auto" and not isinstance(getattr(torch, chosen, None), torch.dtype):
        raise BenchharmonyError(f"--dtype {dtype}: not a number type; use float32 or bfloat16")
    with _worded(model):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
        loaded = transformers.AutoModelForCausalLM.from_pretrained(
            place, dtype=chosen if chosen == "auto" else getattr(torch, chosen), **options
        )
    loaded.to(where).eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    shown = name or _shown_name(place, file, revision)
    facts = {
        "model": model if file is None else f"{place}:{file}",
        "revision": revision or getattr(loaded.config, "_commit_hash", None),
        "parameters": int(loaded.num_parameters()),
        "family": family(shown.split("@")[0], str(loaded.config.model_type)),
        "architecture": str(loaded.config.model_type),
        "dtype": str(loaded.dtype).removeprefix("torch."),
        "device": where.type,
    }
    if Path(place).exists():  # a path says where a file lay, not what it is
        facts["model"] = shown if file is None else file
    length = _max_length(loaded, tokenizer)
    return LoadedModel(loaded, tokenizer, shown, where, length, facts)


def versions() -> dict[str, str]:
    """Return the versions of the packages that shape the numbers."""
    found = {}
    for package in ("benchharmony", "torch", "transformers", "tokenizers", "lm-eval", "gguf"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def family(name: str, architecture: str) -> str:
    """Return the family a model's name tells: what comes before its size, else architecture.

    "HuggingFaceTB/SmolLM2-135M-Instruct" is "SmolLM2", "gemma-3-270m" is "gemma-3".
    """
    leaf = name.rsplit("/", 1)[-1]
    found = _SIZE.search(leaf)
    if found is None:
        return architecture
    return leaf[: found.start()].strip("-_. ") or architecture


def chat_template(tokenizer: Any, system: str | None = None) -> Any:
    """Return a function that puts a text into the user turn of the tokenizer's chat template.

    Raises
    ------
    BenchharmonyError
        When the tokenizer has no chat template.
    """
    if not tokenizer.chat_template:
        raise BenchharmonyError(
            "--chat-template: this model's tokenizer has no chat template; leave the option out"
        )

    def wrap(text: str) -> str:
        turns = [{"role": "system", "content": system}] if system else []
        turns.append({"role": "user", "content": text})
        filled: str = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return filled

    return wrap


def _libraries() -> tuple[Any, Any]:
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars of loaders; --quiet means quiet
    try:
        import torch
        import transformers
    except ImportError as error:
        raise BenchharmonyError(f"collect {INSTALL}") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _locate(model: str, gguf: str | None) -> tuple[str, str | None]:
    """Return the directory or hub id and the GGUF file in it."""
    for candidate in (gguf, model):
        if candidate and Path(candidate).is_file():
            return str(Path(candidate).parent), Path(candidate).name
    path = Path(model)
    if path.is_dir():
        if gguf is not None:
            raise BenchharmonyError(f"--gguf {gguf}: no such file, neither here nor in {model}")
        if not (path / "config.json").is_file():
            files = sorted(p.name for p in path.glob("*.gguf"))
            hint = f"; name the GGUF file: --gguf {files[0]}" if files else ""
            raise BenchharmonyError(
                f"--model {model}: the directory holds no config.json, so no model{hint}"
            )
    elif model.startswith((".", "/", "~")) or (os.sep != "/" and os.sep in model):
        raise BenchharmonyError(f"--model {model}: no such file or directory")
    return model, gguf


def _device(torch: Any, wanted: str) -> Any:
    if wanted != "auto":
        try:
            return torch.empty(0, device=wanted).device
        except (RuntimeError, AssertionError) as error:
            raise BenchharmonyError(
                f"--device {wanted}: not available here ({_first_line(error)})"
            ) from None
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


@contextlib.contextmanager
def _worded(model: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise BenchharmonyError(f"--model {model}: {INSTALL} ({_first_line(error)})") from error
    except Exception as error:  # loaders of damaged files raise whatever they stumble over
        raise BenchharmonyError(
            f"--model {model}: cannot be loaded ({_first_line(error)}); give a hub id "
            "(with a network, and access to it), a local model directory or a GGUF file"
        ) from error


def _shown_name(place: str, file: str | None, revision: str | None) -> str:
    if file is not None:
        shown = re.sub(r"\.gguf$", "", file, flags=re.IGNORECASE)
    else:
        shown = Path(place).resolve().name if Path(place).exists() else place
    return f"{shown}@{revision}" if revision else shown


def _max_length(model: Any, tokenizer: Any) -> int:
    config = getattr(model.config, "text_config", None) or model.config
    for key in ("n_positions", "max_position_embeddings", "n_ctx"):
        value = getattr(config, key, None)
        if value is not None:
            return int(value)
    limit = getattr(tokenizer, "model_max_length", None)
    return int(limit) if limit is not None and limit < _NO_LIMIT else DEFAULT_MAX_LENGTH


def _first_line(error: BaseException) -> str:
    return next((x.strip() for x in str(error).splitlines() if x.strip()), type(error).__name__)
