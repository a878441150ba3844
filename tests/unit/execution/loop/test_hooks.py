"""Hooks: what is configured, what is run, and what is remembered of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.execution.loop.hooks import OUTPUT_CHARS, HookRunner
from guardian.execution.model import Hook, HookTarget
from guardian.model.operation import HookAction, HookAnswer, HookKey
from tests.patience import until

TARGET = HookTarget("live", 4, "kafka4.example.net")
KEY = HookKey(4, HookAction.RESTART, 1)


def script(*words: str, timeout_s: float = 60.0) -> Hook:
    return Hook.of("it", {"kind": "command", "command": [sys.executable, "-c", *words], "timeout_s": timeout_s})


def answer(runner: HookRunner, key: HookKey = KEY) -> HookAnswer:
    until(lambda: key in runner.answers("t-1"))
    return runner.answers("t-1")[key]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("kill -9", "hooks.it is 'kill -9': write it as a section, [hooks.it]"),
        ({}, 'hooks.it.kind is None: use "command", "systemd" or "kubernetes"'),
        ({"kind": "command"}, "hooks.it.command is missing: give the words"),
        ({"kind": "command", "command": []}, "hooks.it.command is []"),
        ({"kind": "command", "command": ["restart", 4]}, "give a list, such as"),
        ({"kind": "command", "command": ["x", "{id}"]}, "in braces use one of action, broker, cluster, host"),
        ({"kind": "command", "command": ["x", "{broker.real}"]}, "in braces use one of"),
        ({"kind": "command", "command": ["x", "{broker"]}, "write a brace that is meant as"),
        (
            {"kind": "command", "command": ["x"], "unit": "k"},
            "hooks.it.unit is not a setting: use one of command, environment",
        ),
        (
            {"kind": "command", "command": ["x"], "timeout_s": 0},
            "hooks.it.timeout_s is 0: use more than 0, up to 86400",
        ),
        ({"kind": "command", "command": ["x"], "timeout_s": "5m"}, "hooks.it.timeout_s is '5m': give a number"),
        ({"kind": "command", "command": ["x"], "environment": "PATH"}, "hooks.it.environment is 'PATH': list names"),
        ({"kind": "command", "command": ["x"], "environment": ["A=b"]}, "hooks.it.environment is ['A=b']: list names"),
        ({"kind": "systemd"}, "hooks.it.unit is missing: give the unit"),
        ({"kind": "kubernetes", "pod": "p"}, "hooks.it.namespace is missing"),
    ],
)
def test_a_wrong_hook_is_named_with_the_fix(table: object, sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Hook.of("it", table)
    assert sentence in str(raised.value)


def test_each_kind_has_its_command() -> None:
    own = Hook.of("own", {"kind": "command", "command": ["node", "{action}", "{cluster}/{broker}", "{{{host}}}"]})
    assert own.command_for(HookAction.STOP, TARGET) == ("node", "stop", "live/4", "{kafka4.example.net}")
    unit = Hook.of("unit", {"kind": "systemd", "unit": "kafka@{broker}", "host": "root@{host}"})
    assert unit.command_for(HookAction.RESTART, TARGET) == (
        "systemctl",
        "--host=root@kafka4.example.net",
        "restart",
        "--",
        "kafka@4",
    )
    assert Hook.of("unit", {"kind": "systemd", "unit": "kafka"}).command[:2] == ("systemctl", "{action}")
    pod = Hook.of("pod", {"kind": "kubernetes", "namespace": "kafka", "pod": "live-{broker}"})
    assert pod.command_for(HookAction.RESTART, TARGET)[-1] == "live-4"
    assert {"--wait=true", "--timeout=300s"} < set(pod.command), "the old process is gone when it has ended"
    runner = HookRunner({"pod": pod, "unit": unit})
    assert [runner.must_be_seen(name) for name in ("pod", "unit", "none-such")] == [True, False, False]
    with pytest.raises(InvalidInput, match="can restart a broker and not stop it"):
        pod.command_for(HookAction.STOP, TARGET)
    with pytest.raises(InvalidInput, match="needs the host of node 4"):
        unit.command_for(HookAction.STOP, HookTarget("live", 4))


@pytest.mark.parametrize("host", ["-oProxyCommand=touch /tmp/owned", "--kubeconfig=/tmp/x", "-"])
def test_no_value_is_taken_for_an_option(host: str) -> None:
    target = HookTarget("live", 4, host)
    for table in (
        {"kind": "command", "command": ["ssh", "{host}", "restart"]},
        {"kind": "systemd", "unit": "kafka", "host": "{host}"},
        {"kind": "systemd", "unit": "kafka@{host}"},
        {"kind": "kubernetes", "namespace": "kafka", "pod": "{host}"},
    ):
        with pytest.raises(InvalidInput, match=r"host of node 4 is '-.* give one that does not begin with a dash"):
            Hook.of("it", table).command_for(HookAction.RESTART, target)
    with pytest.raises(InvalidInput, match="broker of node -1 is '-1'"):
        Hook.of("it", {"kind": "command", "command": ["x", "{broker}"]}).command_for(
            HookAction.STOP, HookTarget("live", -1)
        )


def test_a_hook_gets_the_listed_part_of_the_members_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GUARDIAN_TOKEN", "AWS_SECRET_ACCESS_KEY", "KUBECONFIG", "LD_PRELOAD", "KAFKA_HOME", "OTHER"):
        monkeypatch.setenv(name, f"value of {name}")
    told = "import json, os; print(json.dumps(sorted(os.environ)))"
    table = {"kind": "command", "command": [sys.executable, "-c", told], "environment": ["KAFKA_HOME", "NOT_SET"]}
    runner = HookRunner({"it": Hook.of("it", table)})
    runner.start("t-1", KEY, "it", TARGET)
    found = answer(runner)
    assert found.is_ok, found.output
    names = set(json.loads(found.output[found.output.index("[") :]))
    assert {"KAFKA_HOME", "PATH"} <= names
    assert names <= {"KAFKA_HOME", "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
    pod = Hook.of("pod", {"kind": "kubernetes", "namespace": "kafka", "pod": "k"})
    assert "KUBECONFIG" in pod.environment_of({"KUBECONFIG": "/k", "GUARDIAN_TOKEN": "t"})


def test_a_run_answers_with_what_it_said_and_starts_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hook = script(f"open({str(log)!r}, 'a').write('x'); print('done', '{{action}}', {{broker}})")
    runner = HookRunner({"it": hook})
    runner.start("t-1", KEY, "it", TARGET)
    runner.start("t-1", KEY, "it", TARGET)
    found = answer(runner)
    assert found.is_ok
    assert "ended with 0" in found.output
    assert found.output.endswith("done restart 4")
    runner.start("t-1", KEY, "it", TARGET)
    runner.start("t-1", HookKey(4, HookAction.RESTART, 2), "it", TARGET)
    answer(runner, HookKey(4, HookAction.RESTART, 2))
    assert log.read_text() == "xx"
    assert runner.answers("t-2") == {}
    runner.keep_only({"t-1"})
    assert len(runner.answers("t-1")) == 2
    runner.keep_only(())
    assert runner.answers("t-1") == {}


@pytest.mark.parametrize(
    ("host", "problem"), [("a\0b", "embedded null byte"), ("\ud800", "can't encode character")], ids=ascii
)
def test_an_argument_that_no_program_can_get_is_a_failure(host: str, problem: str) -> None:
    runner = HookRunner({"it": Hook.of("it", {"kind": "command", "command": ["true", "{host}"]})})
    runner.start("t-1", KEY, "it", HookTarget("live", 4, host))
    found = answer(runner)
    assert not found.is_ok
    assert found.output.startswith("hook it can't be started: true: ")
    assert problem in found.output


def test_a_run_that_nobody_foresaw_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: 1 / 0)
    runner = HookRunner({"it": script("pass")})
    runner.start("t-1", KEY, "it", TARGET)
    found = answer(runner)
    assert (found.is_ok, found.output) == (
        False,
        "hook it failed in a way nobody foresaw: ZeroDivisionError('division by zero')",
    )


@pytest.mark.slow
def test_what_fails_says_why() -> None:
    runner = HookRunner(
        {
            "fails": script("import sys; print('no such unit'); sys.exit(5)"),
            "hangs": Hook.of(
                "hangs",
                {"kind": "command", "command": ["sh", "-c", "echo still here; exec sleep 600"], "timeout_s": 1.0},
            ),
            "absent": Hook.of("absent", {"kind": "command", "command": ["/no/such/program"]}),
            "chatty": script("print('x' * 100_000)"),
        }
    )
    keys = {name: HookKey(number, HookAction.STOP, 1) for number, name in enumerate((*runner.names, "unknown"))}
    for name, key in keys.items():
        runner.start("t-1", key, name, TARGET)
    assert "ended with 5" in answer(runner, keys["fails"]).output
    assert "no such unit" in answer(runner, keys["fails"]).output
    assert "did not end within 1 s" in answer(runner, keys["hangs"]).output
    assert "still here" in answer(runner, keys["hangs"]).output
    assert "can't be started: /no/such/program" in answer(runner, keys["absent"]).output
    assert (
        "name one of the members' configuration (absent, chatty, fails, hangs)"
        in answer(runner, keys["unknown"]).output
    )
    assert not any(answer(runner, keys[name]).is_ok for name in ("fails", "hangs", "absent", "unknown"))
    assert answer(runner, keys["chatty"]).is_ok
    assert len(answer(runner, keys["chatty"]).output) < OUTPUT_CHARS + 100
