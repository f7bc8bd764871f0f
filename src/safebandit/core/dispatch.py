"""One formula per type, called alike from Python and from compiled code.

A *generic* is a function without a body; `generic.register(Kind)` gives it the formula for values of
the class `Kind` (a NamedTuple). Python looks the formula up by the value's class; Numba does the same
at compile time, through `numba.extending.overload`, so that the choice costs nothing in the loop and a
class written in a notebook runs at compiled speed.

Written by hand because `functools.singledispatch` cannot be seen by Numba, and functions passed as
arguments are never found again in Numba's disk cache.

Eight decorators say how a function is compiled. They differ because code that is kept cannot see edits of a user's
class, because an entry for Python doubles the time to compile, and because a long part should not be copied into each
caller:

    compiled       Python calls it; kept on disk; for numbers and our own types alone
    compiled_here  Python calls it; compiled in each process, for types from outside
    inlined        a small part of its compiled callers; where Python calls it, it is compiled apart
    shared         compiled once, and kept on disk for all its compiled callers
    piece          a part that takes a policy or an index, perhaps a user's; Python cannot call it
    apart          a piece that is called, not copied into its callers: it is long, or seldom needed
    both           plain to Python, a part to compiled code
    substituted    written into its callers before they are typed, so that it may give back a bare record

Behind them: where compiled code is kept, and the one door to the compiler.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import hashlib
import inspect
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import numba
import platformdirs
from numba import types
from numba.core import event, sigutils
from numba.core.runtime.nrt import rtsys
from numba.extending import overload, register_jitable

from safebandit.core.parts import SHARED, LeanCompiler, OutdatedError, PartCompiler, known_at_once, note_shared
from safebandit.errors import PolicyError
from safebandit.sources import formulas_hash
from safebandit.waits import WAITS

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

# No entry for C, which nobody calls.
OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "pipeline_class": LeanCompiler,
}  # fmt: skip
# Untyped on purpose: Numba's own hints do not know all of its options.
_njit: Any = numba.njit
_config: Any = numba.config
_types_in: Any = sigutils.normalize_signature
# Of a function that only compiled code calls: an entry for Python in each would double the time to compile.
_CALLED: Any = {**OPTIONS, "no_cpython_wrapper": True}
WITHIN: Any = {**_CALLED, "forceinline": True, "pipeline_class": PartCompiler}
UNUSED_AFTER_DAYS = 30


@functools.cache
def cache_folder() -> Path:
    """Where compiled code is kept: the user's cache, one folder per state of the sources.

    Numba notices an edit in the file of the function it compiles, not in the files of the functions
    that one calls; a folder named after a hash of all sources of formulas cannot serve an old one.
    """
    base = Path(os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("safebandit"))
    folder = base / f"compiled-{formulas_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        warnings.warn(
            f"compiled code is not kept between runs: {base} cannot be written ({problem.strerror}); "
            "set NUMBA_CACHE_DIR to a folder that can",
            stacklevel=2,
        )
        private = tempfile.mkdtemp(prefix="safebandit-")
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        return Path(private)
    _remove_unused(base, keep=folder)
    return folder


def _remove_unused(base: Path, *, keep: Path) -> None:
    oldest = time.time() - UNUSED_AFTER_DAYS * 86_400
    for folder in base.glob("compiled-*"):
        with contextlib.suppress(OSError):
            if folder != keep and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)


@contextlib.contextmanager
def _numba_cache() -> Iterator[None]:
    """Numba reads its cache folder when a function is decorated; ours must not leak into others'."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        _config.CACHE_DIR = before


class _Door:
    """The one door to Numba's compiler, and to its cache on disk.

    In a process one thread compiles at a time. Of several processes one compiles a function for certain types, and the
    others wait and find it ready; meanwhile they may compile others. They write into the cache one after the other:
    Numba notes in an index which file holds the code for which types, and of two that did so at once, the index of one
    could come to name the code of the other. What a function calls is compiled inside, so the door is entered again
    by who is inside; a function never calls back those that call it, so nobody waits for each other.
    """

    def __init__(self) -> None:
        self._inside = threading.RLock()

    @contextlib.contextmanager
    def entered(self, what: str) -> Iterator[None]:
        """Be the only one who compiles `what`."""
        name = hashlib.sha256(what.encode()).hexdigest()[:16]
        with self._inside, (cache_folder() / f"{name}.lock").open("a+b") as file:
            _lock(file.fileno())
            with _no_collector(), known_at_once():
                yield


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Let Python's garbage collector rest: it would look again and again at all that Numba holds until it is done."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


DOOR = _Door()


class _Compiling(event.Listener):
    """Numba says when it compiles, and whoever waits is told."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Something begins to be compiled; what was kept on disk is not."""
        WAITS.compiling()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """It is compiled."""
        WAITS.compiled()


_listen: Any = event.register
_listen("numba:compile", _Compiling())


def _behind_door(dispatcher: Any) -> Any:
    """Let a function be compiled, and written into its cache, by who is inside the door."""
    name, cache = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}", dispatcher._cache
    compile_it, save_it = dispatcher.compile, cache.save_overload

    def compile_alone(signature: Any) -> Any:
        with DOOR.entered(f"{name} for {signature}"):
            return compile_it(signature)

    def save_alone(signature: Any, code: Any) -> None:
        with DOOR.entered(f"the cache of {name}"):
            save_it(signature, code)

    dispatcher.compile, cache.save_overload = compile_alone, save_alone
    if hasattr(cache, "_load_overload"):
        cache.load_overload = functools.partial(_load_alone, cache)
    return dispatcher


def _load_alone(cache: Any, signature: Any, context: Any) -> Any:
    """Load what is kept, without what only a compiler needs.

    Numba would first learn all that it can compile, and find linear algebra in SciPy: a third of a second, for nothing
    where all is kept. It does so anyway before it compiles. Machine code itself needs Numba's runtime and no more.
    """
    rtsys.initialize(context)
    with cache._guard_against_spurious_io_errors(), contextlib.suppress(OutdatedError):
        return cache._load_overload(signature, context)
    return None


def _lock(descriptor: int) -> None:
    """Wait for a file that is closed, and so unlocked, when its process ends in whatever way."""
    # On a file system without locks, compile all the same.
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)


# Only functions of numbers and of our own types may be kept on disk. Code that was compiled for a user's class would be
# found again after an edit of that class, and its entry cannot even be read where the class does not exist.
def compiled(function: F) -> F:
    """Compile a function of numbers or of our own types at its first call, without the GIL; keep it on disk."""
    with _numba_cache():
        return _behind_door(_njit(cache=True, **OPTIONS)(function))


class _ForBoth:
    """A function for compiled code; for Python it is compiled apart, when it is first called there."""

    def __init__(self, function: Callable[..., Any], part: Any) -> None:
        self._part = part
        self.py_func = function
        functools.update_wrapper(self, function)

    @property
    def _numba_type_(self) -> Any:
        return self._part._numba_type_

    @functools.cached_property
    def _entry(self) -> Callable[..., Any]:
        return compiled(self.py_func)

    def __call__(self, *args: Any) -> Any:
        return self._entry(*args)


def inlined(function: F) -> F:
    """Compile a small function of numbers or of our own types as a part of each compiled caller."""
    return cast(F, _ForBoth(function, _njit(**WITHIN)(function)))


def shared(function: F) -> F:
    """Compile a function of numbers or of our own types once, and keep it on disk, for all that is compiled."""
    # Under a name of its own, so that what has no entry for Python is never found where Python calls.
    part: Any = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    part.__qualname__, part.__module__ = f"{function.__qualname__}.shared", function.__module__
    with _numba_cache():
        return cast(F, _ForBoth(function, _called_by_all(_behind_door(_njit(cache=True, **_CALLED)(part)))))


def _called_by_all(dispatcher: Any) -> Any:
    """Let callers of a shared function call its machine code, whether it is compiled now or was kept."""
    SHARED[dispatcher.py_func.__module__, dispatcher.py_func.__qualname__] = dispatcher
    compile_it = dispatcher.compile

    def compile_for_all(signature: Any) -> Any:
        entry = compile_it(signature)
        note_shared(dispatcher, _types_in(signature)[0])
        return entry

    dispatcher.compile = compile_for_all
    return dispatcher


def is_ours(value: Any) -> bool:
    """Whether a value, and all that it is made of, has a type of this package."""
    if not hasattr(value, "_fields"):
        return True
    return type(value).__module__.startswith("safebandit.") and all(is_ours(field) for field in value)


def compiled_here(function: F) -> F:
    """Compile in this process only: for formulas from outside the package, whose edits we cannot see."""
    return _behind_door(_njit(**OPTIONS)(function))


def piece(function: F) -> F:
    """Compile a piece of a policy that takes indices, perhaps a user's own, as a part of its compiled callers."""
    return _njit(**WITHIN)(function)


def apart(function: F) -> F:
    """Compile a piece that its compiled callers call: it is long, or seldom needed, so that copies would be waste."""
    return _njit(**{**WITHIN, "forceinline": False})(function)


def both(function: F) -> F:
    """Let compiled code call a plain function of numbers, which Python calls as it is."""
    return register_jitable(**WITHIN)(function)


def substituted(function: F) -> F:
    """Write a piece into its compiled callers before they are typed, so that it may give back a bare record."""
    return _njit(inline="always", **OPTIONS)(function)


def _compare_by_type(kind: type) -> None:
    """Let values of two classes differ: as plain tuples, `KLUpper()` and `BayesUpper()` would be equal."""
    if not issubclass(kind, tuple) or kind.__eq__ is not tuple.__eq__:
        return

    as_tuples: Any = tuple.__eq__

    def equal(self: Any, other: object) -> bool:
        return type(self) is type(other) and bool(as_tuples(self, other))

    def differ(self: Any, other: object) -> bool:
        return not equal(self, other)

    def hashed(self: Any) -> int:
        return hash((type(self).__qualname__, *self))

    for name, method in (("__eq__", equal), ("__ne__", differ), ("__hash__", hashed)):
        setattr(kind, name, method)


_GENERICS: list[GenericFunction[Any, Any]] = []


@functools.cache
def _arity(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


class GenericFunction(Generic[P, R]):
    """A function whose formula depends on the class of its first argument."""

    def __init__(self, stub: Callable[P, R]) -> None:
        self.formulas: dict[type, Callable[..., R]] = {}
        self.plain: dict[type, Callable[..., R]] = {}
        self.name = stub.__name__
        self.arity = _arity(stub)
        functools.update_wrapper(self, stub)
        _GENERICS.append(self)
        overload(self, strict=False, jit_options=WITHIN)(self._resolve)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        if named:
            raise TypeError(f"{self.name} takes its arguments by position, got {', '.join(named)}")
        formula = self._formula(type(args[0]), self.plain)
        return formula(*args[: _arity(formula)])

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> str:
        # Pickled by its name: the formulas stay where they are registered.
        return self.name

    def register(self, kind: type) -> Callable[[F], F]:
        """Give `kind` its formula. The formula may leave out trailing arguments it does not need."""

        def add(formula: F) -> F:
            if kind in self.formulas:
                raise PolicyError(
                    f"{kind.__name__} already has a formula for {self.name}; define the class again, "
                    "in the same cell, so that no compiled code still holds the old one"
                )
            plain = getattr(formula, "py_func", formula)
            self.formulas[kind] = self._padded(plain)
            self.plain[kind] = plain
            _compare_by_type(kind)
            return formula

        return add

    def knows(self, kind: type) -> bool:
        """Whether `kind` itself, not a default, has a formula."""
        return kind in self.formulas

    def answered_by(self, value: Any) -> bool:
        """Whether a value's class, or one that it is derived from, has a formula: not the default for all."""
        return self._formula(type(value), self.formulas) is not self.formulas.get(object)

    def _padded(self, formula: Callable[..., R]) -> Callable[..., R]:
        wanted = _arity(formula)
        if wanted == self.arity:
            return formula
        if not 1 <= wanted < self.arity:
            raise PolicyError(f"a formula for {self.name} takes 1 to {self.arity} arguments, got {wanted}")
        inner = _njit(**WITHIN)(formula)

        def padded(*args: Any) -> R:
            return inner(*args[:wanted])

        return padded

    def _formula(self, kind: type, formulas: dict[type, Callable[..., R]]) -> Callable[..., R]:
        for base in kind.__mro__:
            if base in formulas:
                return formulas[base]
        raise PolicyError(f"{kind.__name__} has no formula for {self.name}; add @{self.name}.register({kind.__name__})")

    def _resolve(self, *args: Any) -> Callable[..., R] | None:
        kind = getattr(args[0], "instance_class", object) if isinstance(args[0], types.BaseNamedTuple) else object
        return self._formula(kind, self.formulas)


def generic(stub: Callable[P, R]) -> GenericFunction[P, R]:
    """Turn a signature into a generic function; its formulas are registered by class."""
    return GenericFunction(stub)


class Formula(NamedTuple):
    """A formula as it travels to another process."""

    generic: GenericFunction[Any, Any]
    kind: type
    function: Callable[..., Any]


def formulas_to_send(kind: type) -> list[Formula]:
    """The formulas of a class from a script or a notebook, which no other process can import."""
    if kind.__module__ != "__main__":
        return []
    return [Formula(generic, kind, generic.plain[kind]) for generic in _GENERICS if generic.knows(kind)]


def take_formulas(formulas: Iterable[Formula]) -> None:
    """Register formulas that came from another process, each once."""
    for generic, kind, function in formulas:
        if not generic.knows(kind):
            generic.register(kind)(function)
