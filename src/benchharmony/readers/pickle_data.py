"""A pickle as plain data: its opcodes are followed as a list of notes, nothing in it is run.

Loading a pickle means to import what it names and to call it with arguments of its choice. Here
nothing is imported and nothing is called. The opcodes of a pickle are read one by one
(``pickletools``, which only decodes them) and build plain values: numbers, texts, bytes, lists,
tuples, dicts, sets. A name that a pickle asks for is looked up in a short table of things that
are known to be data, NumPy arrays among them, whose bytes are laid out here after their type,
shape and length were checked. Any other name ends the reading with a message.

What a hostile pickle can still try is to be expensive, so the size of the pickle, the containers
it makes and the depth of its tuples are limited. Shared and cyclic values are left as they are:
whoever walks over the result must bound the walk.
"""

from __future__ import annotations

import math
import pickletools
import re
import struct
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A longer pickle is refused: each of its bytes can become a container of a hundred.
MAX_BYTES = 128 << 20
#: Containers cost memory beyond the bytes of the pickle; this many bytes of them are allowed.
_MAX_CONTAINER_BYTES = 1 << 30
_CONTAINER_BYTES = 80
_SET_BYTES = 232

#: Booleans, whole numbers, floats and fixed-width texts; no objects, dates or records.
_DTYPE = re.compile(r"([<>=|]?)(b1|[iu][1248]|f[248]|[SU]\d{1,5})")
_MOST_DIMENSIONS = 8
#: Python hashes whole numbers below this to themselves, so that no two keys of a dict collide.
_KEY_LIMIT = (1 << 61) - 1

_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
_NUMERIC = ("numpy.core.numeric", "numpy._core.numeric")


class PickleFault(ValueError):  # noqa: N818 (a fault of the file, not of ours)
    """Why a pickle cannot be read as plain data."""


@dataclass(frozen=True)
class _Name:
    """A name that a pickle asked for; stands for nothing but itself."""

    text: str


class _DType:
    """A NumPy type while a pickle builds it."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "="

    def resolve(self) -> np.dtype[Any]:
        match = _DTYPE.fullmatch(self.code)
        if match is None:
            raise PickleFault(f"a NumPy array of type {self.code[:40]!r}, which is no plain data")
        order = match[1] or ("" if self.order in "|=" else self.order)
        return np.dtype((order if order in "<>" else "") + match[2])


class _Array:
    """A NumPy array while a pickle builds it: empty until its state is given."""

    def __init__(self) -> None:
        self.value: NDArray[Any] | None = None


def load_plain(data: bytes) -> Any:
    """Return the plain value that a pickle holds.

    Parameters
    ----------
    data : bytes
        A pickle of any protocol.

    Returns
    -------
    Any
        Numbers, texts, bytes, lists, tuples, dicts, sets and NumPy arrays, one in another.

    Raises
    ------
    PickleFault
        When it holds anything else, is damaged, or would take too much memory.
    """
    if len(data) > MAX_BYTES:
        raise PickleFault(f"a pickle of more than {MAX_BYTES >> 20} MiB")
    try:
        # pickletools decodes old texts in a way that Python warns of.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return _Machine().run(data)
    except PickleFault:
        raise
    except (IndexError, KeyError, AttributeError, TypeError):
        raise PickleFault("damaged: its instructions do not fit together") from None
    except (ValueError, struct.error, OverflowError) as error:
        reason = str(error).split("\n")[0][:100] or type(error).__name__
        raise PickleFault(f"damaged or cut off ({reason})") from None
    except (MemoryError, RecursionError):
        raise PickleFault("too large or nested too deeply") from None


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.spent = 0

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in _PUSHED:
                self.stack.append(argument)
            elif name in _IGNORED:
                continue
            elif name == "STOP":
                return _finished(self.stack.pop())
            else:
                act = _ACTS.get(name)
                if act is None:
                    raise PickleFault(f"it uses {name}, which plain data does not need")
                act(self, argument)
        raise PickleFault("damaged or cut off (no end)")

    def spend(self, size: int) -> None:
        self.spent += size
        if self.spent > _MAX_CONTAINER_BYTES:
            raise PickleFault("more containers than a log of results has")

    def mark(self, _: Any) -> None:
        self.spend(_CONTAINER_BYTES)
        self.marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        found, self.stack = self.stack, self.marks.pop()
        return found

    def push(self, value: Any, size: int = _CONTAINER_BYTES) -> None:
        self.spend(size)
        self.stack.append(value)

    def last(self, count: int) -> tuple[Any, ...]:
        if len(self.stack) < count:
            raise IndexError
        found = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return found

    def memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def put(self, key: Any) -> None:
        self.memo[int(key)] = self.stack[-1]

    def get(self, key: Any) -> None:
        self.stack.append(self.memo[int(key)])

    def append(self, _: Any) -> None:
        (value,) = self.last(1)
        _of(self.stack[-1], list).append(value)

    def appends(self, _: Any) -> None:
        values = self.since_mark()
        _of(self.stack[-1], list).extend(values)

    def set_item(self, _: Any) -> None:
        key, value = self.last(2)
        _of(self.stack[-1], dict)[_key(key)] = value

    def set_items(self, _: Any) -> None:
        pairs = self.since_mark()
        into = _of(self.stack[-1], dict)
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            into[_key(key)] = value

    def add_items(self, _: Any) -> None:
        values = self.since_mark()
        _of(self.stack[-1], set).update(map(_key, values))

    def make_dict(self, _: Any) -> None:
        pairs = self.since_mark()
        self.push(dict(zip(map(_key, pairs[::2]), pairs[1::2], strict=True)))

    def named(self, argument: Any) -> None:
        module, _, name = str(argument).partition(" ")
        self.stack.append(_known(module, name))

    def stack_named(self, _: Any) -> None:
        module, name = self.last(2)
        self.stack.append(_known(str(module), str(name)))

    def reduce(self, _: Any) -> None:
        name, arguments = self.last(2)
        made = _CALLS.get(_of(name, _Name).text)
        if made is None:
            raise TypeError
        self.push(made(*_of(arguments, tuple)), _SET_BYTES)

    def build(self, _: Any) -> None:
        (state,) = self.last(1)
        target = self.stack[-1]
        if isinstance(target, _Array):
            _, shape, dtype, by_column, data = _of(state, tuple)
            target.value = _laid_out(data, dtype, shape, bool(by_column))
        elif isinstance(target, _DType):
            order, fields = state[1], state[3]
            if fields is not None:
                raise PickleFault("a NumPy array of records, which is no plain data")
            target.order = _of(order, str)
        else:
            raise TypeError


def _of(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _key(value: Any) -> Hashable:
    """Return a key of a dict; those whose hash or comparison could be made slow are refused."""
    if isinstance(value, (str, bytes, bool)) or value is None:
        return value
    if isinstance(value, int) and abs(value) < _KEY_LIMIT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, np.generic):
        return _key(value.item())
    raise PickleFault(f"a key of type {type(value).__name__}, which is no number and no text")


def _known(module: str, name: str) -> _Name:
    text = f"{module}.{name}"
    if text not in _CALLS and text not in _TYPES:
        raise PickleFault(f"it asks for {text[:100]!r}, which is no plain data; nothing was run")
    return _Name(text)


def _laid_out(data: Any, dtype: Any, shape: Any, by_column: bool) -> NDArray[Any]:
    """Return the array that bytes hold, after the sizes were found to agree."""
    kind = _of(dtype, _DType).resolve()
    if isinstance(data, str):  # written by Python 2
        data = data.encode("latin-1")
    sizes = tuple(_of(size, int) for size in _of(shape, tuple))
    raw = bytes(_of(data, (bytes, bytearray)))  # type: ignore[arg-type]
    if len(sizes) > _MOST_DIMENSIONS or any(size < 0 for size in sizes):
        raise PickleFault("a NumPy array of an impossible shape")
    if kind.itemsize == 0 or math.prod(sizes) * kind.itemsize != len(raw):
        raise PickleFault("a NumPy array whose bytes do not fill its shape")
    found: NDArray[Any] = np.frombuffer(raw, kind).reshape(sizes, order="F" if by_column else "C")
    return found


def _finished(value: Any) -> Any:
    """Return an array in place of what stood for it at the top."""
    if isinstance(value, _Array):
        return value.value
    return value


def array_in(value: Any) -> Any:
    """Return the NumPy array that a value of :func:`load_plain` stands for, or the value."""
    return value.value if isinstance(value, _Array) else value


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    if _of(kind, _Name).text != "numpy.ndarray":
        raise TypeError
    return _Array()


def _scalar(dtype: Any, data: Any = None) -> Any:
    if data is None:
        raise PickleFault("a NumPy scalar without its bytes")
    return _laid_out(data, dtype, (), False)[()]


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.value = _laid_out(data, dtype, shape, order == "F")
    return array


def _dtype(code: Any, *_: Any) -> _DType:
    return _DType(_of(code, str))


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise TypeError
    return bytes(_of(text, str).encode("latin-1"))


def _bytes(*arguments: Any) -> bytes:
    if arguments:  # only empty bytes are written so, by protocols that have no bytes
        raise TypeError
    return b""


def _collection(kind: type) -> Callable[..., Any]:
    """Return what makes a list, a set and the like of nothing or of one list."""

    def make(values: Any = ()) -> Any:
        values = _of(values, (list, tuple))  # type: ignore[arg-type]
        return kind(map(_key, values) if kind in (set, frozenset) else values)

    return make


def _mapping(*arguments: Any) -> dict[Hashable, Any]:
    """Return an OrderedDict or defaultdict as the dict that it is."""
    pairs = [a for a in arguments if isinstance(a, (list, tuple, dict))]
    if not pairs:
        return {}
    listed = list(pairs[0].items()) if isinstance(pairs[0], dict) else pairs[0]
    return {_key(key): value for key, value in listed}


_CALLS: dict[str, Callable[..., Any]] = {
    **{f"{module}._reconstruct": _reconstruct for module in _MULTIARRAY},
    **{f"{module}.scalar": _scalar for module in _MULTIARRAY},
    **{f"{module}._frombuffer": _from_buffer for module in _NUMERIC},
    "numpy.dtype": _dtype,
    "_codecs.encode": _encoded,
    "collections.OrderedDict": _mapping,
    "collections.defaultdict": _mapping,
}
for _module in ("builtins", "__builtin__"):
    for _kind in (set, frozenset, list, tuple):
        _CALLS[f"{_module}.{_kind.__name__}"] = _collection(_kind)
    _CALLS[f"{_module}.bytes"] = _bytes
#: Names that only stand as arguments of others.
_TYPES = frozenset(
    ["numpy.ndarray"]
    + [f"{m}.{k}" for m in ("builtins", "__builtin__") for k in ("int", "float", "str", "dict")]
)

_PUSHED = frozenset(
    """
    INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING
    BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
_IGNORED = frozenset(("PROTO", "FRAME"))
_ACTS: dict[str, Callable[[_Machine, Any], object]] = {
    "NONE": lambda m, _: m.stack.append(None),
    "NEWTRUE": lambda m, _: m.stack.append(True),
    "NEWFALSE": lambda m, _: m.stack.append(False),
    "MARK": _Machine.mark,
    "POP": lambda m, _: m.last(1),
    "POP_MARK": lambda m, _: m.since_mark(),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "MEMOIZE": _Machine.memoize,
    "PUT": _Machine.put,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "GET": _Machine.get,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_SET": lambda m, _: m.push(set(), _SET_BYTES),
    "LIST": lambda m, _: m.push(m.since_mark()),
    "TUPLE": lambda m, _: m.push(tuple(m.since_mark())),
    "TUPLE1": lambda m, _: m.push(m.last(1)),
    "TUPLE2": lambda m, _: m.push(m.last(2)),
    "TUPLE3": lambda m, _: m.push(m.last(3)),
    "DICT": _Machine.make_dict,
    "FROZENSET": lambda m, _: m.push(frozenset(map(_key, m.since_mark())), _SET_BYTES),
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "ADDITEMS": _Machine.add_items,
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.stack_named,
    "REDUCE": _Machine.reduce,
    "BUILD": _Machine.build,
}
