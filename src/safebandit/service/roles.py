"""What each role may do, and where: in projects, and an admin in the whole installation, too."""

from __future__ import annotations

from collections.abc import Mapping

from safebandit.errors import TrialError, suggest
from safebandit.trials.texts import DEFAULT, check_project

# What each role may do. "list" shows names and status of trials, "read" what is known of the arms, "log" every unit's
# allocation, the log and its verification, "manage" everything that changes a trial but asking and telling,
# "alerts" who is told of what.
PERMISSIONS = {
    "admin": frozenset({"list", "read", "ask", "tell", "log", "manage", "keys", "alerts"}),
    "operator": frozenset({"list", "ask", "tell"}),
    "viewer": frozenset({"list", "read"}),
    "auditor": frozenset({"list", "read", "log"}),
}
ROLES = tuple(PERMISSIONS)
# In the place of a project: the installation. Its admin makes projects, people and keys, and sees no trial by that.
EVERYWHERE = "*"
OF_THE_INSTALLATION = frozenset({"list", "keys", "projects"})
Roles = Mapping[str, str]


def may(roles: Roles, action: str, project: str | None) -> bool:
    """Whether these roles allow this in a project; without one, in any."""
    if project is not None:
        role = roles.get(project)
        return role is not None and action in PERMISSIONS[role]
    if EVERYWHERE in roles and action in OF_THE_INSTALLATION:
        return True
    return any(action in PERMISSIONS[role] for where, role in roles.items() if where != EVERYWHERE)


def read_roles(roles: Roles) -> dict[str, str]:
    """Roles by project as people give them, checked."""
    for project, role in roles.items():
        if project == EVERYWHERE and role != "admin":
            raise TrialError(f'the installation ("{EVERYWHERE}") has admins only, got {role!r}')
        if project != EVERYWHERE:
            check_project(project)
        if role not in PERMISSIONS:
            raise TrialError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    return dict(roles)


def parse_roles(texts: list[str]) -> dict[str, str]:
    """Roles as they are typed: a role in the project "default", or project=role; "installation" for its admin.

    >>> parse_roles(["oncology=viewer", "knee=admin"])
    {'oncology': 'viewer', 'knee': 'admin'}
    >>> parse_roles(["operator", "installation"])
    {'default': 'operator', '*': 'admin'}
    """
    found: dict[str, str] = {}
    for text in texts:
        project, equals, role = text.strip().partition("=")
        if not equals:
            project, role = (EVERYWHERE, "admin") if project == "installation" else (DEFAULT, project)
        if project in found:
            raise TrialError(f"a role in {project} is given twice; say it once")
        if role not in PERMISSIONS:
            raise TrialError(f'"{text}" names no role, such as viewer or knee=viewer; {suggest(role, ROLES)}')
        found[project] = role
    return read_roles(found)


def show_roles(roles: Roles) -> str:
    """Roles as people read them.

    >>> show_roles({"default": "admin", "*": "admin", "knee": "viewer"})
    'installation, admin, knee=viewer'
    """
    words = {EVERYWHERE: "installation", DEFAULT: roles.get(DEFAULT, "")}
    return ", ".join(words.get(project, f"{project}={role}") for project, role in sorted(roles.items()))


def of_a_persons_key(own: Roles, person: Roles) -> dict[str, str]:
    """What a person's key may do: what the person may, or less where the key has roles of its own.

    >>> of_a_persons_key({"knee": "operator", "hip": "admin"}, {"knee": "admin", "hip": "viewer"})
    {'knee': 'operator'}
    """
    if not own:
        return dict(person)
    return {project: role for project, role in own.items() if person.get(project) in (role, "admin")}
