"""Benchmarks of lm-evaluation-harness: its documents, prompts, options and scoring."""

from __future__ import annotations

import difflib
import logging
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchharmony.collect.model import INSTALL
from benchharmony.collect.task_items import (
    GENERATED,
    GROUP_COLUMN,
    SCORED,
    document_groups,
    task_item,
)
from benchharmony.collect.work import Benchmark, ItemError, Outcome, WorkItem
from benchharmony.errors import BenchharmonyError, Problem

#: The harness's own seeds, so that it draws the same few-shot examples.
_SEEDS = {"random": 0, "numpy": 1234, "fewshot": 1234}


@dataclass(frozen=True)
class TaskOptions:
    """How tasks are set up.

    Attributes
    ----------
    include_path : str or None
        Directory of further YAML tasks.
    num_fewshot : int or None
        Few-shot examples; None keeps the task's own number.
    limit : int or None
        First documents of each task only.
    max_new_tokens : int or None
        Longest answer, where the task does not say.
    chat : callable or None
        Turns chat messages into a prompt (``messages -> str``).
    score : str or None
        Metric to use as score; by default the one that a log of the task is read with.
    """

    include_path: str | None = None
    num_fewshot: int | None = None
    limit: int | None = None
    max_new_tokens: int | None = None
    chat: Any = None
    score: str | None = None


@dataclass
class _Asked:
    """A document, its requests, and the item made of them."""

    task: Any
    document: Any
    instances: list[Any]


def load_task(name: str, options: TaskOptions | None = None) -> Benchmark:
    """Load a task, or a group of tasks as one benchmark.

    Parameters
    ----------
    name : str
        Registered name, or path of a YAML file.
    options : TaskOptions, optional
        How to set it up.

    Raises
    ------
    BenchharmonyError
        When lm-eval is missing, the task is unknown, cannot be loaded, or has nothing that can
        be scored item by item.
    """
    options = options or TaskOptions()
    tasks = _tasks(name, options)
    asked: dict[str, _Asked] = {}
    items: list[WorkItem] = []
    problems: list[Problem] = []
    for task_name, task in tasks.items():
        _check_kind(task_name, task)
        prefix = "" if len(tasks) == 1 else f"{task_name}:"
        for item, one in _documents(task_name, task, prefix, options, problems):
            items.append(item)
            asked[item.item_id] = one
    if not items:
        first = f"; the first problem: {problems[0]}" if problems else ""
        raise BenchharmonyError(f"--task {name}: no usable document{first}")
    items = document_groups(items, [asked[i.item_id].document for i in items])
    if len(tasks) > 1:
        items = _with_task_names(items)
    return Benchmark(
        name=os.path.basename(name).removesuffix(".yaml"),
        items=tuple(items),
        score=_Scorer(asked),
        score_name=options.score,
        source_format="lm-eval task",
        items_read=len(items) + len(problems),
        problems=tuple(problems),
        settings={
            "task": name,
            "num_fewshot": {t: task.config.num_fewshot or 0 for t, task in tasks.items()},
            "limit": options.limit,
        },
    )


def _documents(
    name: str, task: Any, prefix: str, options: TaskOptions, problems: list[Problem]
) -> Iterator[tuple[WorkItem, _Asked]]:
    """Yield the usable documents of a task; the others become problems."""
    for number, document in task.doc_iterator(limit=options.limit):
        item_id = f"{prefix}{number}"
        try:
            instances = _instances(task, number, document, options)
            item = task_item(item_id, task, document, instances, options.max_new_tokens)
        except ItemError as error:
            problems.append(Problem(name, str(error), number + 1, item_id))
        except Exception as error:  # templates and functions of a task may fail in any way
            first = next((x.strip() for x in str(error).splitlines() if x.strip()), "")
            reason = f"the task fails on this document ({type(error).__name__}: {first[:200]})"
            problems.append(Problem(name, reason, number + 1, item_id))
        else:
            yield item, _Asked(task, document, instances)


@dataclass
class _Scorer:
    """The tasks' own scoring: filters, then ``process_results`` of each document."""

    asked: dict[str, _Asked]

    def __call__(
        self, items: Sequence[WorkItem], outcomes: Sequence[Outcome]
    ) -> list[dict[str, float]]:
        by_task: dict[int, list[_Asked]] = {}
        for item, outcome in zip(items, outcomes, strict=True):
            one = self.asked[item.item_id]
            by_task.setdefault(id(one.task), []).append(one)
            for number, instance in enumerate(one.instances):
                given = (
                    outcome.generated
                    if item.generation is not None
                    else (outcome.logprobs[number], outcome.greedy[number])
                )
                instance.resps = [given] * max(1, instance.repeats or 1)
        for members in by_task.values():
            task = members[0].task
            task._instances = [i for one in members for i in one.instances]
            task.apply_filters()
        return [self._metrics(self.asked[item.item_id]) for item in items]

    def _metrics(self, one: _Asked) -> dict[str, float]:
        filters = list(one.instances[0].filtered_resps)
        found: dict[str, float] = {}
        for key in filters:
            responses = [i.filtered_resps[key] for i in one.instances]
            with np.errstate(divide="ignore", invalid="ignore"):  # an option of no characters
                results = one.task.process_results(one.document, responses)
            for metric, value in results.items():
                if isinstance(value, (bool, int, float, np.number)):
                    found.setdefault(metric, float(value))
                    if len(filters) > 1:
                        found[f"{metric},{key}"] = float(value)
        return found


def _tasks(name: str, options: TaskOptions) -> dict[str, Any]:
    """Return the tasks of that name, by their own names."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        from lm_eval.tasks import TaskManager
    except ImportError as error:
        raise BenchharmonyError(f"--task {INSTALL}") from error
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    random.seed(_SEEDS["random"])
    np.random.seed(_SEEDS["numpy"])  # noqa: NPY002 - the global state is what lm-eval uses
    if options.include_path is not None and not os.path.isdir(options.include_path):
        raise BenchharmonyError(f"--include-path {options.include_path}: no such directory")
    # The harness's own thousands of tasks take seconds to list: only when they are needed.
    manager = None
    if options.include_path is not None:
        manager = TaskManager(include_path=options.include_path, include_defaults=False)
    if manager is None or name not in manager.all_tasks:
        manager = TaskManager(include_path=options.include_path)
    if name not in manager.all_tasks and not os.path.isfile(name):
        close = difflib.get_close_matches(name, manager.all_tasks, 3)
        hint = f"; close names: {', '.join(close)}" if close else ""
        raise BenchharmonyError(
            f"--task {name}: lm-eval knows no such task{hint}; local YAML tasks need --include-path"
        )
    try:
        tasks: dict[str, Any] = manager.load(name)["tasks"]
    except Exception as error:  # whatever a data set's loader raises
        first = next((x.strip() for x in str(error).splitlines() if x.strip()), "")
        raise BenchharmonyError(
            f"--task {name}: cannot be loaded ({type(error).__name__}: {first[:200]}); its data "
            "may need a network, or the paths in its YAML are relative to another directory"
        ) from error
    for task in tasks.values():
        if options.num_fewshot is not None:
            task.set_config(key="num_fewshot", value=options.num_fewshot)
        task.set_fewshot_seed(seed=_SEEDS["fewshot"])
    return tasks


def _check_kind(name: str, task: Any) -> None:
    kind = task.OUTPUT_TYPE
    if kind not in (*SCORED, GENERATED):
        raise BenchharmonyError(
            f"--task {name}: its output type is {kind}, which has neither options nor an answer "
            "to score item by item; use a multiple_choice, loglikelihood or generate_until task"
        )


def _instances(task: Any, number: int, document: Any, options: TaskOptions) -> list[Any]:
    """Return the requests of a document, as ``Task.build_all_requests`` makes them."""
    chat = {"apply_chat_template": options.chat is not None, "chat_template": options.chat}
    context = task.fewshot_context(
        document,
        num_fewshot=task.config.num_fewshot or 0,
        system_instruction=None,
        fewshot_as_multiturn=options.chat is not None,
        gen_prefix=task.doc_to_prefix(document),
        **chat,
    )
    made = task.construct_requests(
        doc=document,
        ctx=context,
        metadata=(task.config["task"], number, task.config.repeats),
        **chat,
    )
    return made if isinstance(made, list) else [made]


def _with_task_names(items: Sequence[WorkItem]) -> list[WorkItem]:
    return [
        replace(i, groups={GROUP_COLUMN: i.item_id.rsplit(":", 1)[0], **i.groups}) for i in items
    ]
