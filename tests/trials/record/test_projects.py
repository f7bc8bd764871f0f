"""Projects in the record: names that do not meet, and databases from before there were any."""

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from safebandit.errors import NotFoundError, TrialError
from safebandit.service.keys import Keys
from safebandit.trials.events import NOTHING, Event, seal
from safebandit.trials.record import Ledger, database
from safebandit.trials.record.database import REVISION, migrate
from safebandit.trials.record.projects import all_projects, make_project
from safebandit.trials.record.verification import verify, verify_database

from .helpers import refused, settings

TIME = "2026-03-01T12:00:00.000000Z"


def test_two_projects_use_one_name(ledger):
    make_project(ledger, "oncology", title="Group of Ada", actor="Ada")
    make_project(ledger, "hip-2", actor="Ada")
    for name in ("knee", "oncology:knee", "hip-2:knee"):
        ledger.create(name, settings("docb"), actor="Ada")
        ledger.ask(name, "1", actor="Ada")
    assert ledger.names() == ["hip-2:knee", "knee", "oncology:knee"]
    assert len({ledger.event(name, 1).hash for name in ledger.names()}) == 3
    assert ledger.event("oncology:knee", 1).trial == "oncology:knee"
    assert all(verify(ledger, name).holds for name in ledger.names())
    assert [(each.name, each.title) for each in all_projects(ledger)] == [
        ("default", ""), ("hip-2", ""), ("oncology", "Group of Ada"),
    ]  # fmt: skip
    assert verify_database(ledger).holds
    longest = "p" * 32
    make_project(ledger, longest, actor="Ada")
    ledger.create(f"{longest}:{'n' * 64}", settings("docb"), actor="Ada")


def test_names_that_cannot_be(ledger):
    before = ledger.registry()
    for wrong in ("other:knee", "a:b:c"):
        with pytest.raises(TrialError):
            ledger.create(wrong, settings("docb"))
    with refused('there is no project "other"; an admin of the installation makes one', NotFoundError):
        ledger.create("other:knee", settings("docb"))
    with refused('trials of the project "default" have no project before their names'):
        ledger.create("default:knee", settings("docb"))
    for wrong in ("", "Upper", "a_b", "-a", "*", "a:b", "é", "p" * 33, None):
        with refused("a project's name is 1 to 32 small letters"):
            make_project(ledger, wrong, actor="Ada")
    for there in ("default",):
        with refused("already; give another name"):
            make_project(ledger, there, actor="Ada")
    assert ledger.registry() == before


def test_a_name_that_is_not_there_is_compared_with_its_own_project_alone(ledger):
    make_project(ledger, "oncology", actor="Ada")
    ledger.create("oncology:knee", settings("docb"), actor="Ada")
    ledger.create("hand", settings("docb"), actor="Ada")
    with pytest.raises(NotFoundError) as mistake:
        ledger.state("knee")
    assert "oncology" not in str(mistake.value)
    with pytest.raises(NotFoundError, match='did you mean "oncology:knee"'):
        ledger.state("oncology:kne")


@pytest.fixture(params=["sqlite", "postgresql"])
def older(request, tmp_path, monkeypatch):
    """A database as version 0.5.0 left it: two keys of which one is of its registry's beginning, and a session."""
    if request.param == "sqlite":
        address = str(tmp_path / "older.db")
        sqlite = sa.create_engine(f"sqlite:///{address}")
    else:
        address = request.getfixturevalue("postgres").new_database()
        sqlite = sa.create_engine(address)
    config = Config()
    config.set_main_option("script_location", str(database.Path(database.__file__).parent / "migrations"))
    with sqlite.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        columns = "(id, name, role, hash, created, expires, revoked)"
        for key, role in (("0" * 16, "admin"), ("1" * 16, "viewer")):
            body = {"id": key, "name": role, "role": role, "hash": "h" * 64, "created": TIME}
            body |= {"expires": None, "revoked": None}
            connection.execute(
                sa.text(f"INSERT INTO keys {columns} VALUES (:id,:name,:role,:hash,:created,:expires,:revoked)"), body
            )
            _register(connection, "key made", body)
        connection.execute(sa.text(f"INSERT INTO sessions VALUES ('s', '{'0' * 16}', '2099')"))
    sqlite.dispose()
    return address


def _register(connection, kind, body):
    last = connection.execute(sa.text("SELECT number, hash, time FROM registry ORDER BY number DESC LIMIT 1")).one()
    event = seal("", last.number + 1, max(last.time, TIME), "Ada", kind, body, last.hash)
    fields = [name for name in Event._fields if name != "trial"]
    values = {name: getattr(event, name) for name in fields}
    text = f"INSERT INTO registry ({', '.join(fields)}) VALUES ({', '.join(':' + name for name in fields)})"
    connection.execute(sa.text(text), values)
    assert NOTHING


def test_keys_from_before_there_were_projects(older):
    assert migrate(older) == ("0005", REVISION)
    with Ledger(older) as ledger:
        admin, viewer = Keys(ledger).all()
        assert admin.roles == {"default": "admin", "*": "admin"}
        assert viewer.roles == {"default": "viewer"}
        assert (admin.creator, admin.person, admin.used) == ("Ada", None, None)
        found = verify_database(ledger)
        assert found.holds, found.problem
        Keys(ledger).rotate(viewer.id, actor="Bea")
        make_project(ledger, "oncology", actor="Bea")
        ledger.create(f"oncology:{'n' * 64}", settings("docb"), actor="Bea")
        assert verify_database(ledger).holds
