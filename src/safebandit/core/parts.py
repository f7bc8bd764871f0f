"""How Numba compiles a part: a function that only compiled code calls.

Numba optimises every function that it compiles, with all that the function calls, and makes machine code of it. Of a
part of a part of a function this would be done three times, and all but the last for nothing. So a part here is typed
and translated alone, and is optimised, and made into machine code, once: with the function that Python calls.
"""

# Numba's own functions have no types.
# mypy: disable-error-code="no-untyped-call, attr-defined"

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _PartLibrary(JITCodeLibrary):
    """The code of a part; what it calls is linked to it when a function that Python calls asks for it."""

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        self._reload_init.update(library._reload_init)
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._ensure_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            super()._get_module_for_linking()
        return self._shared_module


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


class PartCompiler(compiler.Compiler):
    """Numba's own steps, but for the last."""

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes[:] = [
                (_PartLowering, words) if each is NativeLowering else (each, words) for each, words in pipeline.passes
            ]
            pipeline._finalized = False
            pipeline.finalize()
        return pipelines
