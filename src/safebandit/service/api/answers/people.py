"""Who may do what: keys, people and projects."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from safebandit.service.api.answers.base import Answer


class KeyAnswer(Answer):
    """A key without its secret."""

    id: str
    name: str
    role: Annotated[str, Field(description="Its roles in words.", examples=["operator", "installation, admin"])]
    roles: Annotated[dict[str, str], Field(description='By project; "*" is the installation.')]
    person: Annotated[str | None, Field(description="Whose it is; nothing of a service's.")]
    creator: Annotated[str, Field(description="Who made it.")]
    created: str
    used: Annotated[str | None, Field(description="When it was last used, to a minute or so.")]
    expires: str | None
    revoked: str | None
    old_until: Annotated[str | None, Field(description="Until when the secret before its last rotation works.")]


class NewKeyAnswer(KeyAnswer):
    """A new key: the only time that its text is shown."""

    key: str


class CallerAnswer(Answer):
    """Who asks: a key, or a person who signed in."""

    id: str
    name: str
    person: Annotated[str | None, Field(description="The person; nothing where a service asks.")]
    roles: Annotated[dict[str, str], Field(description='By project; "*" is the installation.')]
    expires: str | None


class ProjectAnswer(Answer):
    """A project; `default` was never made."""

    name: str
    title: str
    created: str | None


class PersonAnswer(Answer):
    """A person, with the roles that the caller may see."""

    id: str
    name: str
    email: str | None
    subject: Annotated[str | None, Field(description="What the identity provider calls them, since they signed in.")]
    created: str
    removed: str | None
    roles: dict[str, str]
