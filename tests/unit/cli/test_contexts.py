"""Whom a command talks to: named, kept in one file, chosen in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from guardian.cli import completing, contexts
from guardian.cli.contexts import Context, Contexts
from guardian.cli.options import Connection, cluster_of, use
from guardian.errors import GuardianError, InvalidInput, NotFound, Unavailable
from tests.command_line import app

PROD = Context("prod", ("g1:9750", "g2:9750"), ca="~/ca.pem", timeout="60s")
DEV = Context("dev", ("d1:9750",))


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration file of the test's own, and nothing else that says where Guardian is."""
    for name in ("GUARDIAN_ENDPOINTS", "GUARDIAN_CONTEXT", "GUARDIAN_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path / "local"))
    monkeypatch.setenv("GUARDIAN_CONFIG", str(tmp_path / "config" / "config.yaml"))
    yield tmp_path / "config" / "config.yaml"
    use(Connection())


def local(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    members = [{"grpc": "127.0.0.1:1", "http": "127.0.0.1:2"}, {"grpc": "127.0.0.1:3", "http": "127.0.0.1:4"}]
    (tmp_path / "local" / "state.json").write_text(json.dumps({"members": members}))


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["context", *arguments], catch_exceptions=True)
    if code == 0 and result.exception:
        raise result.exception
    return result


def test_what_is_saved_is_read_again_and_is_its_owners_only(file: Path) -> None:
    kept = Contexts().with_one(PROD).with_one(DEV)
    contexts.save(kept)
    assert contexts.load() == kept
    assert kept.current == "prod"
    assert file.stat().st_mode & 0o077 == 0
    assert [each.name for each in file.parent.iterdir()] == ["config.yaml"]


def test_the_order_in_which_members_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert contexts.choose().endpoints == ("127.0.0.1:9750",)
    local(tmp_path)
    assert contexts.choose().endpoints == ("127.0.0.1:1", "127.0.0.1:3")
    contexts.save(Contexts().with_one(PROD).with_one(DEV))
    assert contexts.choose().context == PROD
    monkeypatch.setenv("GUARDIAN_CONTEXT", "dev")
    assert (contexts.choose().context, contexts.choose().why) == (DEV, "$GUARDIAN_CONTEXT")
    monkeypatch.setenv("GUARDIAN_ENDPOINTS", "e1:1, e2:2")
    assert contexts.choose().endpoints == ("e1:1", "e2:2")
    # typer hands over the environment's value as if it had been typed: a context that was typed comes first.
    assert contexts.choose("e1:1, e2:2", "prod").context == PROD
    assert contexts.choose("typed:1").endpoints == ("typed:1",)
    assert contexts.choose(context="local").endpoints == ("127.0.0.1:1", "127.0.0.1:3")


def test_endpoints_by_hand_take_nothing_of_a_context() -> None:
    contexts.save(Contexts().with_one(PROD))
    assert contexts.choose("other:9750").context is None
    with pytest.raises(InvalidInput, match="--endpoints and --context are both given"):
        contexts.choose("other:9750", "prod")


def test_an_unknown_context_names_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts.save(Contexts().with_one(PROD).with_one(DEV))
    with pytest.raises(NotFound, match=r"context 'prd' is not known \(there is: dev, prod\)"):
        contexts.choose(context="prd")
    monkeypatch.setenv("GUARDIAN_CONTEXT", "local")
    with pytest.raises(NotFound, match="context 'local' is not known"):
        contexts.choose()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("current: [", "is not valid YAML"),
        ("- a", "the file is .*: write it as `name: value` lines"),
        ("currant: a", "currant is not a setting: did you mean current"),
        ("current: 7", "current is 7: give the name"),
        ("current: a\ncontexts: {}", "current is 'a', which is not one of contexts"),
        ("contexts: {a: 1}", "contexts.a is 1"),
        ("contexts: {a: {endpoints: g1:1}}", r"contexts.a.endpoints is 'g1:1': give a list"),
        ("contexts: {a: {endpoints: []}}", "context a: endpoints is empty"),
        ("contexts: {a: {endpoints: [g1]}}", "context a: endpoints is 'g1': use host:port"),
        ("contexts: {a: {endpoints: [g1:1], timeout: 5}}", "contexts.a.timeout is 5: give a text"),
        ("contexts: {a: {endpoints: [g1:1], timeout: soon}}", "context a: timeout is 'soon'"),
        ("contexts: {a: {endpoints: [g1:1], key: k}}", "context a: key is given without certificate"),
        ("contexts: {a: {endpoints: [g1:1], http: g1:2}}", "context a: http is 'g1:2': use http://host:port"),
        ("contexts: {a: {endpoints: [g1:1], colour: red}}", "contexts.a.colour is not a setting"),
        ("contexts: {a b: {endpoints: [g1:1]}}", "context has the name 'a b'"),
        ("contexts: {a: {endpoints: [g1:1]}}\n\x00", "is not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_is_told_with_field_and_fix(file: Path, content: str, sentence: str) -> None:
    file.parent.mkdir()
    file.write_text(content)
    with pytest.raises(InvalidInput, match=sentence) as caught:
        contexts.load()
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_contexts_are_added_used_changed_shown_and_removed(file: Path) -> None:
    assert "names no context" in run("list").stdout
    assert run("add", "prod", "--endpoints", "g1:9750,g2:9750").stdout == (
        "Context prod is added, and is the current one.\n"
    )
    assert "Next: guardian context use dev" in run("add", "dev", "--endpoints", "d1:9750", "--timeout", "5s").stdout
    assert run("use", "dev").stdout == "Commands talk to dev: d1:9750.\n"
    assert run("show").stdout == "d1:9750 (context dev, by the current context)\ntimeout: 5s\n"
    assert run("add", "dev", "--timeout", "").stdout == "Context dev is changed, and is the current one.\n"
    assert yaml.safe_load(run("show", "dev", "-o", "yaml").stdout) == {
        "name": "dev",
        "because": "its name",
        "endpoints": ["d1:9750"],
    }
    assert [line.split()[:2] for line in run("list").stdout.splitlines()[1:]] == [["*", "dev"], ["prod", "g1:9750,"]]
    assert run("remove", "dev", "--yes").stdout == "Context dev is forgotten; none is current now.\n"
    assert contexts.load() == Contexts("", {"prod": Context("prod", ("g1:9750", "g2:9750"))})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "prod"), "--endpoints is missing: context 'prod' is new"),
        (("add", "local", "--endpoints", "a:1"), "which stands for `guardian local`"),
        (("add", "prod", "--endpoints", "a"), "endpoints is 'a': use host:port"),
        (("use", "nope"), "context 'nope' is not known"),
        (("remove", "nope", "--yes"), "context 'nope' is not known"),
    ],
)
def test_what_can_not_be_is_refused_and_changes_nothing(file: Path, arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments, code=2)
    assert isinstance(result.exception, GuardianError)
    assert sentence in str(result.exception)
    assert not file.exists()


def test_without_yes_and_without_anybody_nothing_is_forgotten() -> None:
    contexts.save(Contexts().with_one(DEV))
    refused = run("remove", "dev", code=2)
    assert isinstance(refused.exception, InvalidInput)
    assert "give --yes" in str(refused.exception)
    assert CliRunner().invoke(app, ["context", "remove", "dev"], input="n\n").exit_code == 1
    assert contexts.load().contexts == {"dev": DEV}


def test_names_are_offered_to_the_shell(tmp_path: Path) -> None:
    contexts.save(Contexts().with_one(PROD).with_one(DEV))
    local(tmp_path)
    assert [name for name, _ in completing.context_names("")] == ["dev", "prod", "local"]
    assert completing.context_names("p") == [("prod", "g1:9750, g2:9750")]


def test_a_command_that_is_given_no_cluster_takes_the_contexts() -> None:
    where = ("--context", "prod", "--timeout", "100ms")
    contexts.save(Contexts().with_one(replace(PROD, ca="", endpoints=("127.0.0.1:1",))))
    with pytest.raises(InvalidInput, match=r"--cluster is missing: give --cluster NAME .*, or the context a default"):
        CliRunner().invoke(app, ["broker", "metrics", "7", *where], catch_exceptions=False)
    use(Connection())
    run("add", "prod", "--cluster", "live")
    assert contexts.load().get("prod").cluster == "live"
    assert cluster_of("", "") == "live"
    assert cluster_of("other", "") == "other"
    with pytest.raises(InvalidInput, match="--cluster is missing"):
        cluster_of("", "127.0.0.1:2")
    with pytest.raises(Unavailable):
        CliRunner().invoke(app, ["broker", "metrics", "7", *where], catch_exceptions=False)
