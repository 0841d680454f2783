"""What is known about a model: family, parameters, training tokens, checkpoint.

Three sources, the first that says something wins: a CSV that the user gives, the evaluation's own
metadata, the model's name. The rule for names (docs/landscape.md has examples; every result says
what was taken from where):

1. The organisation is cut off (``org/name``, ``org__name``), and so are file endings, quantisation
   and precision words, and a leading "Meta-".
2. A checkpoint is ``step123`` or ``step123-tokens5B``; ``tokens5B`` gives tokens.
3. The size is the first ``<number>(K|M|B|T)`` that stands alone ("7B", "0.5b", "160m", "8x7B").
   An active size ("-A3B") is not the size. Some names say the size in a word ("Phi-3-mini").
4. The family is what stands before the size, and the tuning words after it ("Instruct", "chat",
   "deduped"): base and tuned models are different series. Dates and context lengths are dropped.
   Releases that extend one line of sizes are one family (``_SAME_FAMILY``, a choice of ours).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation

#: Releases whose sizes complete each other: one family for trends.
_SAME_FAMILY = {"Llama-3.1": "Llama-3", "Llama-3.2": "Llama-3", "Llama-3.3": "Llama-3"}
#: Sizes that a name gives as a word, or not as its total.
_NAMED_SIZES = {
    "phi-3-mini": 3.8e9, "phi-3-small": 7e9, "phi-3-medium": 14e9, "phi-3.5-mini": 3.8e9,
    "phi-4-mini": 3.8e9, "phi-2": 2.7e9, "phi-1.5": 1.3e9, "phi-4": 14e9,
    "mixtral-8x7b": 46.7e9, "mixtral-8x22b": 141e9,
    "gpt2-medium": 355e6, "gpt2-large": 774e6, "gpt2-xl": 1.5e9, "gpt2": 124e6,
}  # fmt: skip
#: Training tokens of one step, where a family's checkpoints are named by steps.
_TOKENS_PER_STEP = {"pythia": 2_097_152}
#: Words that make another series of the same sizes.
_TUNED = {
    "instruct": "Instruct", "it": "it", "chat": "chat", "sft": "SFT", "dpo": "DPO", "rlhf": "RLHF",
    "deduped": "deduped", "thinking": "Thinking", "coder": "Coder", "math": "Math", "base": "",
    "hf": "", "pt": "",
}  # fmt: skip
_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)([kmbt])(?![a-z0-9])", re.IGNORECASE)
_UNIT = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_STEP = re.compile(r"(?:^|[-_.:@/ ])step[-_]?(\d+)(?![\d.]*[kmbt])", re.IGNORECASE)
_TOKENS = re.compile(r"tokens?[-_]?(\d+(?:\.\d+)?)([kmbt])", re.IGNORECASE)
_STAGE = re.compile(r"[-_.:@/ ](?:stage\d+|ingredient\d+)(?=[-_.:@/ ]|$)", re.IGNORECASE)
_NOISE = re.compile(
    r"\.(?:gguf|bin|pt|safetensors)$|[-_.](?:gguf|gptq|awq|bnb|fp16|bf16|fp32|fp8|int[48]|[48]-?bit"
    r"|i?q\d(?:_[0-9a-z]+)*|4k|8k|32k|128k|preview|latest|v1\.1)(?=[-_.]|$)",
    re.IGNORECASE,
)
_DATE = re.compile(r"[-_](?:\d{4}|\d{6}|\d{8})(?=[-_]|$)")


@dataclass(frozen=True)
class ModelInfo:
    """Facts about one model; None where unknown.

    Attributes
    ----------
    model : str
        The name that the evaluations use.
    family : str or None
        Series of sizes that belong together.
    parameters : float or None
        Number of parameters, all experts counted.
    tokens : float or None
        Training tokens seen.
    checkpoint : str or None
        Name of the training checkpoint ("step3000").
    source : str
        "CSV", "metadata" or "name" for each fact, in words.
    """

    model: str
    family: str | None = None
    parameters: float | None = None
    tokens: float | None = None
    checkpoint: str | None = None
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return {
            "model": self.model, "family": self.family, "parameters": self.parameters,
            "tokens": self.tokens, "checkpoint": self.checkpoint, "source": self.source,
        }  # fmt: skip


#: The facts that can be filled in, in the order of the CSV's columns.
FACTS = ("family", "parameters", "tokens", "checkpoint")


def parse_name(name: str) -> ModelInfo:
    """Return what a model's name says, by the rule of this module.

    A name without a size has the family and size None: nothing is guessed.
    """
    short = name.rsplit("/", 1)[-1] if "/" in name else name
    short = short.rsplit("__", 1)[-1]
    step, said = _STEP.search(short), _TOKENS.search(short)
    tokens = float(said[1]) * _UNIT[said[2].lower()] if said else None
    for found in (step, said):
        if found:
            short = short.replace(found.group(0), "")
    short = _STAGE.sub("", short)
    while (cleaned := _NOISE.sub("", short)) != short:
        short = cleaned
    short = re.sub(r"^Meta-(?=Llama)", "", short, flags=re.IGNORECASE).strip("-_. ")
    family, size = _family_and_size(short)
    if step and tokens is None and family is not None:
        per_step = _TOKENS_PER_STEP.get(family.split("-")[0].lower())
        tokens = int(step[1]) * per_step if per_step else None
    known = family is not None or size is not None or step is not None
    return ModelInfo(
        name, family, size, tokens, f"step{step[1]}" if step else None, "name" if known else ""
    )


def _family_and_size(short: str) -> tuple[str | None, float | None]:
    lowered = short.lower()
    named = next((k for k in sorted(_NAMED_SIZES, key=len, reverse=True) if _heads(k, lowered)), "")
    found = _SIZE.search(short)
    if found and not named.startswith("mixtral"):
        before, after = short[: found.start()], short[found.end() :]
        size = float(found[2]) * _UNIT[found[3].lower()] * (int(found[1]) if found[1] else 1)
    elif named:
        words = named.split("-")
        before = "-".join(short.split("-")[: 2 if words[0] == "phi" else 1])
        after, size = short[len(named) :], _NAMED_SIZES[named]
    else:
        return None, None
    stem = _DATE.sub("", before).strip("-_. ")
    tuned = [_TUNED[w] for w in re.split(r"[-_. ]+", after.lower()) if _TUNED.get(w)]
    stem = _SAME_FAMILY.get(stem, stem)
    return ("-".join([stem, *tuned]) if stem else None), size


def _heads(key: str, name: str) -> bool:
    return name == key or name.startswith((key + "-", key + "_"))


def read_models(path: str | Path) -> dict[str, ModelInfo]:
    """Read facts from a CSV with the columns model, family, parameters, tokens, checkpoint.

    Only ``model`` is needed. Numbers may be written 7e9, 7000000000 or 7B.

    Raises
    ------
    InputError
        When the file cannot be read, has no ``model`` column, or a number is none; names the line.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = [c.strip().lower() for c in reader.fieldnames or ()]
            if "model" not in columns:
                raise InputError(
                    str(path), "no column 'model'; expected model,family,parameters,...", 1
                )
            reader.fieldnames = columns
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(path), f"cannot be read as CSV ({error})") from None
    out: dict[str, ModelInfo] = {}
    for line, row in rows:
        info = _of_row(row, str(path), line)
        if info.model in out:
            raise InputError(str(path), f"model {info.model!r} is listed twice", line)
        out[info.model] = info
    return out


def _of_row(row: Mapping[str, Any], path: str, line: int) -> ModelInfo:
    def text(name: str) -> str | None:
        return (row.get(name) or "").strip() or None

    def size(name: str) -> float | None:
        given = text(name)
        try:
            return None if given is None else parse_number(given)
        except ValueError:
            raise InputError(
                path, f"{name} {given!r} is not a positive number such as 7e9 or 7B", line
            ) from None

    model = text("model")
    if model is None:
        raise InputError(path, "a row without a model name", line)
    facts = (text("family"), size("parameters"), size("tokens"), text("checkpoint"))
    return ModelInfo(model, *facts, "CSV")


def parse_number(text: str) -> float:
    """Return a positive number written 7e9, 7000000000 or 7B; ValueError otherwise."""
    plain = text.strip().replace("_", "").replace(",", "")
    unit = _UNIT.get(plain[-1:].lower(), 1.0)
    value = float(plain[:-1] if unit != 1.0 else plain) * unit
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def describe(
    evaluations: Iterable[Evaluation], given: Mapping[str, ModelInfo] | None = None
) -> dict[str, ModelInfo]:
    """Return the facts of every model of some evaluations, in the order they come.

    A fact comes from ``given`` (the CSV), else the evaluation's metadata (keys ``family``,
    ``parameters``, ``tokens``, ``checkpoint``), else the name. Families that differ in case only
    are one, in the spelling that comes first.
    """
    out: dict[str, ModelInfo] = {}
    spelling: dict[str, str] = {}
    for evaluation in evaluations:
        if evaluation.model in out:
            continue
        sources = (
            (given or {}).get(evaluation.model),
            _of_metadata(evaluation),
            parse_name(evaluation.model),
        )
        info = _merged(evaluation.model, [s for s in sources if s is not None])
        if info.family is not None:  # families that differ in case only are one
            first = spelling.setdefault(info.family.casefold(), info.family)
            info = replace(info, family=first)
        out[evaluation.model] = info
    return out


def describe_name(name: str, given: ModelInfo | None = None) -> ModelInfo:
    """Return the facts of one model: those given, then what its name says."""
    return _merged(name, [*([] if given is None else [given]), parse_name(name)])


def _merged(model: str, sources: list[ModelInfo]) -> ModelInfo:
    info, said = ModelInfo(model), []
    for fact in FACTS:
        source = next((s for s in sources if getattr(s, fact) is not None), None)
        if source is not None:
            info = replace(info, **{fact: getattr(source, fact)})
            said.append(source.source)
    return replace(info, source=", ".join(dict.fromkeys(said)))


def _of_metadata(evaluation: Evaluation) -> ModelInfo:
    def number(key: str) -> float | None:
        value = evaluation.metadata.get(key)
        try:
            return None if value is None or value == "" else parse_number(str(value))
        except ValueError:
            return None

    def text(key: str) -> str | None:
        value = evaluation.metadata.get(key)
        return str(value) if value not in (None, "") else None

    return ModelInfo(
        evaluation.model, text("family"), number("parameters"), number("tokens"),
        text("checkpoint"), "metadata",
    )  # fmt: skip
