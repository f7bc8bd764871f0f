"""How Numba compiles a part: a function that only compiled code calls.

Numba optimises every function that it compiles, with all that the function calls, and makes machine code of it. Of a
part of a part of a function this would be done three times, and all but the last for nothing. So a part here is typed
and translated alone, and is optimised, and made into machine code, once: with the function that Python calls.

A shared function is made into machine code by itself, and its callers call that: each would have a copy of it else.
What is kept of a caller says which shared functions must be loaded before it (`Needed`).

Before that Numba takes some thirty steps. Two of them cost much and look for what most formulas do not have: whole
arrays in arithmetic, and functions inside functions. And it asks anew, at every sign between two numbers, what comes of
it, among all that the sign may mean for texts, lists and arrays. Formulas are full of such signs, so answers are kept.
It also looks for variables in all that an instruction holds, some six times over: most of that is numbers, names and
places in a file, in which there are none.
"""

# Numba's own functions and classes have no types.
# mypy: disable-error-code="no-untyped-call, attr-defined, misc"

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from types import CodeType, NoneType
from typing import Any, ClassVar, NamedTuple

from llvmlite.binding import Linkage
from numba import _dynfunc, types
from numba.core import compiler, ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import AnnotateTypes, NativeLowering, NopythonRewrites
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import InlineClosureLikes

# Untyped on purpose: what stands here is replaced.
_functions: Any = BaseFunction
_find_meaning: Any = _functions.get_call_type
_MEANINGS: dict[Any, Any] = {}


def _meaning(function: Any, context: Any, arguments: Any, named: Any) -> Any:
    """What Numba makes of a call, found once for each operator and types of numbers."""
    numbers = all(isinstance(kind, types.Number | types.Boolean) for kind in arguments)
    if named or not numbers or getattr(function.typing_key, "__module__", "") != "_operator":
        return _find_meaning(function, context, arguments, named)
    key = function, context, tuple(arguments)
    if key not in _MEANINGS:
        _MEANINGS[key] = _find_meaning(function, context, arguments, named)
    return _MEANINGS[key]


_instructions: Any = ir.Inst
_find_variables: Any = _instructions._rec_list_vars
_WITHOUT_VARIABLES = frozenset({ir.Loc, NoneType, bool, float, int, str})


def _variables(instruction: Any, held: Any) -> Any:
    """The variables in something that an instruction holds."""
    return [] if type(held) in _WITHOUT_VARIABLES else _find_variables(instruction, held)


@contextlib.contextmanager
def known_at_once() -> Iterator[None]:
    """Spare Numba searches whose outcome is known, as long as something here is compiled: what operators mean between
    numbers, and where there are no variables.
    """
    before = _functions.get_call_type, _instructions._rec_list_vars
    _functions.get_call_type, _instructions._rec_list_vars = _meaning, _variables
    try:
        yield
    finally:
        _functions.get_call_type, _instructions._rec_list_vars = before


@register_pass(mutates_CFG=True, analysis_only=False)
class _ArrayRewrites(NopythonRewrites):
    """Write arithmetic of whole arrays as loops, where there are arrays."""

    _name = "array_rewrites"

    def run_pass(self, state: Any) -> bool:
        return any(isinstance(kind, types.Array) for kind in state.typemap.values()) and super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerFunctions(InlineClosureLikes):
    """Write functions that are defined inside a function into it; ours seldom have any."""

    _name = "inner_functions"

    def run_pass(self, state: Any) -> bool:
        ours = state.func_id.modname.startswith("safebandit.")
        inner = any(isinstance(constant, CodeType) for constant in state.func_id.code.co_consts)
        return (inner or not ours) and super().run_pass(state)


class OutdatedError(Exception):
    """What is kept of a function calls another that is no longer there: it must be compiled anew."""


class Needed(NamedTuple):
    """A shared function that a compiled one calls: where it is defined, for which types, and its machine code's name.

    Called before what is kept of a caller is loaded, it loads the function. The name says whether it is the very one:
    compiled anew it has another.
    """

    module: str
    name: str
    arguments: tuple[Any, ...]
    symbol: str

    def __call__(self) -> None:
        importlib.import_module(self.module)
        function = SHARED[self.module, self.name]
        function.compile(self.arguments)
        if function.overloads[self.arguments].fndesc.mangled_name != self.symbol:
            raise OutdatedError


# Shared functions by module and name.
SHARED: dict[tuple[str, str], Any] = {}


def note_shared(function: Any, arguments: tuple[Any, ...]) -> None:
    """Let callers of a shared function, which is compiled for these types, call its machine code."""
    found, module, name = function.overloads[arguments], function.py_func.__module__, function.py_func.__qualname__
    found.library.needed = Needed(module, name, arguments, found.fndesc.mangled_name)


class _WholeLibrary(JITCodeLibrary):
    """The code of a function that is called as it is, with every part that it is made of, each once; the libraries of
    shared functions, which it `calls`, stand beside it.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._parts: dict[_PartLibrary, None] = {}
        self.calls: dict[Any, Needed] = {}

    def add_linking_library(self, library: Any) -> None:
        if hasattr(library, "needed"):
            self.calls[library] = library.needed
        elif not isinstance(library, _PartLibrary):
            super().add_linking_library(library)
        elif library not in self._parts:
            self._parts[library] = None
            self._reload_init.update(library._reload_init)
            for called in library._linking_libraries:
                self.add_linking_library(called)

    def link_parts(self) -> Any:
        """Link the parts, and only then say that each may be left out: the linker would at once leave out many."""
        for part in self._parts:
            self._final_module.link_in(part._final_module, preserve=True)
        for part in self._parts:
            for function in part._final_module.functions:
                if not function.is_declaration and function.linkage == Linkage.external:
                    self._final_module.get_function(function.name).linkage = "linkonce_odr"
        return self._final_module

    def finalize(self) -> None:
        self.link_parts()
        super().finalize()

    def _get_module_for_linking(self) -> Any:
        # Asked by a function that somebody compiles with Numba alone, and may keep: it gets all that is called, too.
        if self._shared_module is None and self.calls:
            self._shared_module = super()._get_module_for_linking().clone()
            for library in self.calls:
                self._shared_module.link_in(library._get_module_for_linking(), preserve=True)
        return super()._get_module_for_linking()


class _PartLibrary(JITCodeLibrary):
    """The code of a part alone; what it calls is linked with it to the function that Python calls."""

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        self._reload_init.update(library._reload_init)
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        # Asked by a function that somebody compiles with Numba alone, which calls one of ours.
        if self._shared_module is None:
            whole = _WholeLibrary(self._codegen, self.name)
            whole.add_linking_library(self)
            self._shared_module = whole.link_parts()
            for library in dict.fromkeys((*whole._linking_libraries, *whole.calls)):
                self._shared_module.link_in(library._get_module_for_linking(), preserve=True)
        return self._shared_module


@register_pass(mutates_CFG=True, analysis_only=False)
class _WholeLowering(NativeLowering):
    """Translate a function that Python calls, and make machine code of it and of its parts."""

    _name = "whole_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _WholeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        changed = super().run_pass(state)
        state.reload_init.extend(state.library.calls.values())
        return bool(changed)


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Translate a part, and make no machine code of it."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        state.library = _PartLibrary(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        # What stands for the part among the functions that compiled code knows; nobody calls it.
        entry = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "a part", 0, lowered.env, (state.library,))
        state.library._ensure_finalized()
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


_LEAN: dict[Any, Any] = {NopythonRewrites: _ArrayRewrites, InlineClosureLikes: _InnerFunctions}
# A copy of all that is known of a function, for people who want to read it; it would be kept as long as the function.
_FOR_READERS: Any = AnnotateTypes


class LeanCompiler(compiler.Compiler):
    """Numba's own steps, but those that look for what is not there, or keep what nobody reads."""

    replaced: ClassVar = {**_LEAN, NativeLowering: _WholeLowering}

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            steps = [(each, words) for each, words in pipeline.passes if each is not _FOR_READERS]
            pipeline.passes[:] = [(self.replaced.get(each, each), words) for each, words in steps]
            pipeline._finalized = False
            pipeline.finalize()
        return pipelines


class PartCompiler(LeanCompiler):
    """The steps for a part."""

    replaced: ClassVar = {**_LEAN, NativeLowering: _PartLowering}
