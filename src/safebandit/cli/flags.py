"""Which flags go together: what could not be used is refused, and mistakes are told by the flags that can be typed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from safebandit.errors import SafebanditError

# Typer brings its own copy of Click or imports it, by version; its errors have these bases either way.
UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError")


class Needs(NamedTuple):
    """Flags that have a meaning only with all flags of one of these sets."""

    flags: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]


class Without(NamedTuple):
    """Flags that have no meaning with these."""

    flags: tuple[str, ...]
    given: tuple[str, ...]


_OF_MEANS = Needs(("nu", "correlation", "arms"), (("mu",),))
_OF_DATA = Needs(("missing_risk", "columns"), (("data",),))
_SOURCES = (
    Without(("instance", "mu", "data"), ("study",)),
    Without(("mu", "data"), ("instance",)),
    Without(("data",), ("mu",)),
)
_ONLY_LISTED = Without(("seed", "workers", "dask", "out", "json"), ("list_only",))
# A design file has its truths and limits; without one, designs by text have a truth by its means.
_OF_TEXTS = (
    Without(("mu", "nu", "correlation", "alpha"), ("file",)),
    Needs(("mu", "correlation"), (("nu",),)),
)
_ARMS_OF_TEXT = Needs(("arms",), (("design",),))
_ONE_DESIGN = Without(("design",), ("file",))
# Of units in a file, some may be refused, and all may be looked at before.
_OF_MANY = (Needs(("each", "preview"), (("file",),)), Without(("each",), ("preview",)))
# By command, and there by the names that its function has for them.
RULES: dict[str, tuple[Needs | Without, ...]] = {
    "simulate": (
        *_SOURCES,
        _OF_MEANS,
        _OF_DATA,
        Needs(("risks",), (("mu",), ("data",))),
        Needs(("alpha",), (("instance",), ("mu",), ("data",))),
        # The usual policies look at alpha alone.
        Needs(("safe_set",), tuple((source, "policy") for source in ("instance", "mu", "data"))),
        # A named problem has a safe arm at its own alpha.
        Needs(("allow_infeasible",), (("mu",), ("data",), ("instance", "alpha"), ("instance", "safe_set"))),
    ),
    "bounds": (*_SOURCES, _OF_MEANS, Needs(("risks",), (("mu",),))),
    "recommend": (
        *_SOURCES,
        # Given truths have their own arms.
        *(Without(("arms", "prior"), (source,)) for source in ("instance", "mu", "data")),
        Needs(("nu", "correlation"), (("mu",),)),
        _OF_DATA,
        Needs(("risks",), (("mu",), ("data",))),
    ),
    "identify": (*_SOURCES, _OF_MEANS, _OF_DATA, Needs(("risks",), (("mu",), ("data",)))),
    "arena": (_ONLY_LISTED,),
    "paper": (
        _ONLY_LISTED,
        Without(("until_decided",), ("list_only",)),
        Without(("quick", "until_decided"), ("trials",)),
        # It begins with the paper's trials.
        Without(("quick",), ("until_decided",)),
        Needs(("most",), (("until_decided",),)),
    ),
    "validate": (
        # It runs nothing.
        Without(("groups", "full", "prepared_by", "list_only", "workers", "out"), ("check",)),
        Without(("prepared_by", "workers", "out"), ("list_only",)),
    ),
    "design run": (
        *_OF_TEXTS,
        Needs(("add", "question"), (("file",), ("out",))),
    ),
    "design table": (_ARMS_OF_TEXT,),
    "design protocol": (_ARMS_OF_TEXT, Needs(("trials", "workers"), (("file",),))),
    "design calibrate": (*_OF_TEXTS, _ONE_DESIGN, Needs(("write",), (("file",),))),
    "design tune": (*_OF_TEXTS, _ONE_DESIGN),
    # A design says them.
    "trial new": (
        Without(
            (
                "alpha",
                "risks",
                "policy",
                "pending_cap",
                "delay",
                "lost",
                "title",
                "ids",
                "units",
                "control",
                "control_floor",
                "strata",
                "second_person",
            ),
            ("design",),
        ),
    ),
    "trial ask": (Without(("context", "eligible", "stratum"), ("file",)), Needs(("each",), (("file",),))),
    "trial tell": (Without(("reward", "risk"), ("file",)), *_OF_MANY),
    "trial correct": (Without(("reward", "risk"), ("file",)), *_OF_MANY),
    "trial give-up": _OF_MANY,
    "trial void": _OF_MANY,
    "trial amend": (
        Without(
            ("alpha", "policy", "pending_cap", "ids", "add", "control", "control_floor", "second_person"), ("design",)
        ),
    ),
    # A trial in the record says its own.
    "trial analyse": (
        Needs(("alpha", "lost"), (("file",),)),
        Needs(("simulated", "delay", "seed"), (("corrected",),)),
    ),
    "trial rehearse": (
        *_SOURCES,
        _OF_MEANS,
        _OF_DATA,
        Needs(("risks",), (("data",),)),
        Needs(("give_up_after",), (("missing",), ("risk_missing",))),
        Without(("delay",), ("reward_delay", "risk_delay")),
    ),
}


_ARGUMENTS = {"study": "a study file", "file": "a design file", "groups": "a group of checks"}


class Command(TyperCommand):
    """A command that refuses flags which could not be used, and whose mistakes name flags as they are typed."""

    def invoke(self, ctx: Any) -> Any:
        given = {name for name in ctx.params if _source(ctx, name) == "COMMANDLINE"}
        for flag in (param.name for param in self.params if param.name in given):
            why = self._refusal(ctx, flag, given)
            if why:
                raise UsageError(why, ctx)
        try:
            return super().invoke(ctx)
        except SafebanditError as mistake:
            mistake.args = (self._by_flags(ctx, str(mistake), given),)
            raise

    def _refusal(self, ctx: Any, flag: str, given: Collection[str]) -> str | None:
        """Why a flag could not be used beside the others, or None."""
        typed = {param.name: _typed(param) for param in self.params}
        for rule in RULES.get(" ".join(ctx.command_path.split()[1:]), ()):
            if flag not in rule.flags:
                continue
            if isinstance(rule, Without) and set(rule.given) <= set(given):
                others = " and ".join(typed[name] for name in rule.given)
                into = "; leave one of them out"
                if {"study", "file", "design"} & set(rule.given):
                    into = f"; write it into the {'design' if 'design' in rule.given else 'file'}"
                return f"{typed[flag]} cannot be used together with {others}{into}"
            if isinstance(rule, Needs) and not any(set(needed) <= set(given) for needed in rule.sets):
                ways = " or ".join(" and ".join(typed[name] for name in needed) for needed in rule.sets)
                into = "write it into the study file, or " if "study" in given else ""
                return f"{typed[flag]} cannot be used here; {into}give {typed[flag]} with {ways}"
        return None

    def _by_flags(self, ctx: Any, message: str, given: Collection[str]) -> str:
        """A message of the library, with the flags that can be typed in the place of arguments."""
        for param in self.params:
            name, typed = param.name, _typed(param)
            if not typed.startswith("--") or self._refusal(ctx, name, {*given, name}):
                continue
            # What is to be given: missing_risk="drop", alpha=0.2, reward=
            wanted = rf'\b{name}=(?:"([^"]*)"|([^\s",;]*))'
            message = re.sub(wanted, lambda found: f"\0 {found[1] or found[2] or ''}".rstrip(), message)
            message = message.replace("\0", typed)
            if "_" in name:
                message = re.sub(rf"(?<![\w-]){name}(?!\w)", typed, message)
            if name in given:
                message = re.sub(rf"\A{name}(?= must )", typed, message)
        # A remedy that this command does not have.
        known = {param.name for param in self.params}
        return re.sub(r", or [^,;()]*\((\w+_\w+)\)", lambda found: found[0] if found[1] in known else "", message)


def _source(ctx: Any, name: str) -> str:
    source = ctx.get_parameter_source(name)
    return "" if source is None else str(source.name)


def _typed(param: Any) -> str:
    """A flag as it is typed; an argument by what it is."""
    names = [name for name in param.opts if name.startswith("--")]
    return str(names[0]) if names else _ARGUMENTS.get(param.name, str(param.name))
