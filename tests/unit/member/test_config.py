"""A member's configuration: what is wrong is named, with its value and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian import config
from guardian.errors import InvalidInput
from guardian.healing.model import HealingMode
from guardian.model.planner_settings import PlannerSettings
from guardian.throttle.rules.adapting import ThrottleSettings

GOOD = """
name = "g1"
data = "/tmp/g1"
grpc = "127.0.0.1:9750"
http = "127.0.0.1:9751"
raft = "127.0.0.1:9752"
lake = "/tmp/lake"
[peers]
g2 = "127.0.0.1:9762"
[collect]
interval_s = 2
[execute]
tiered_warm_up_s = 0
per_broker_in = 3
[throttle]
floor_mb_per_s = 2.5
p99_factor = 1.3
adapt_without_disk_metrics = true
[tls]
ca = "/etc/ca.pem"
certificate = "/etc/g1.pem"
key = "/etc/g1.key"
[disk]
reserve_mb = 64
[limits]
sessions = 1000
audit_days = 7
"""


def load(tmp_path: Path, text: str) -> config.ServerConfig:
    path = tmp_path / "g1.toml"
    path.write_text(text)
    return config.load(path)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD)
    assert settings.name == "g1"
    assert settings.peers == {"g2": "127.0.0.1:9762"}
    assert settings.collect == config.CollectConfig(interval_s=2.0)
    assert settings.execute == config.ExecuteConfig(tiered_warm_up_s=0.0, per_broker_in=3)
    assert (settings.execute.limits.per_broker_in, settings.execute.limits.slot_bytes) == (3, 1_000_000)
    assert settings.throttle == ThrottleSettings(floor_mb_per_s=2.5, p99_factor=1.3, adapt_without_disk_metrics=True)
    assert settings.tls == config.TlsConfig(Path("/etc/ca.pem"), Path("/etc/g1.pem"), Path("/etc/g1.key"))
    assert settings.disk == config.DiskConfig(reserve_mb=64)
    assert settings.limits == config.LimitsConfig(sessions=1000, audit_days=7.0)
    assert (settings.join, settings.allow_plaintext, settings.client_address) == (False, False, "127.0.0.1:9750")


def test_how_clusters_are_healed_is_read_and_checked_at_the_start(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD).healing.of("live").mode is HealingMode.OBSERVE
    read = load(tmp_path, GOOD + '[healing.clusters."live*"]\nmode = "act"\n').healing
    assert (read.of("live-2").mode, read.of("bulk").mode) == (HealingMode.ACT, HealingMode.OBSERVE)
    with pytest.raises(
        InvalidInput, match=r"configuration .*: healing.mode is 'yes': use .observe., .propose. or .act."
    ):
        load(tmp_path, GOOD + '[healing]\nmode = "yes"\n')


def test_a_file_of_the_lines_between_idcs_may_be_named(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD).links is None
    assert load(tmp_path, f'links = "/etc/links.toml"\n{GOOD}').links == Path("/etc/links.toml")


def test_what_plans_are_asked_for_is_checked_at_the_start(tmp_path: Path) -> None:
    section = '[planner]\ndisk_limit = 0.75\nmax_bytes = inf\ngoals = ["DiskUsageDistributionGoal"]\n'
    weights = "[planner.weights]\ncpu-spread = 2\n"
    found = load(tmp_path, f"{GOOD}{section}{weights}")
    assert config.planner_settings(found.planner) == PlannerSettings(
        disk_limit=0.75, goals=("DiskUsageDistributionGoal",), weights=(("cpu-spread", 2.0),)
    )
    assert load(tmp_path, GOOD).planner == {}


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("disk_limit = 75", "planner.disk_limit is 75: use more than 0, up to 1"),
        ('disk_limit = "x"', "planner.disk_limit is 'x': give a number"),
        ("limit = 1", r"planner.limit is not a setting: did you mean cpu_limit\?"),
        ('goals = ["dsik-spread"]', "planner.goals: goal 'dsik-spread' is not known: use .*disk-spread"),
        ("weights = {cpu = 1}", "planner.weights: goal 'cpu' is not known: use "),
        ("weights = 1", r"planner.weights is 1: write it as a section, \[planner.weights\]"),
    ],
)
def test_a_wrong_planner_setting_is_named_with_its_value_and_the_fix(
    tmp_path: Path, section: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"configuration .*g1\.toml: {sentence}"):
        load(tmp_path, f"{GOOD}[planner]\n{section}\n")


def test_the_raft_port_is_open_to_others_with_tls_and_the_rest_only_when_told_so_in_words(tmp_path: Path) -> None:
    others = GOOD.replace('raft = "127.0.0.1:9752"', 'raft = "10.0.0.1:9752"')
    assert load(tmp_path, others).raft == "10.0.0.1:9752"
    without = others[: others.index("[tls]")]
    with pytest.raises(InvalidInput, match=r"raft is '10.0.0.1:9752', which others reach without TLS: give \[tls\]"):
        load(tmp_path, without)
    trusted = "allow_plaintext = true\n" + without.replace("127.0.0.1:975", "10.0.0.1:975")
    assert load(tmp_path, trusted).grpc == "10.0.0.1:9750"


TLS_SECTIONS = """
[grpc_tls]
ca = "/etc/clients-ca.pem"
certificate = "/etc/g1.pem"
key = "/etc/g1.key"
crl = "/etc/clients-crl.pem"
[http_tls]
certificate = "/etc/g1.pem"
key = "/etc/g1.key"
ca = "/etc/clients-ca.pem"
"""


def test_every_port_is_open_to_others_with_tls_of_its_own_only(tmp_path: Path) -> None:
    others = GOOD.replace("127.0.0.1:975", "10.0.0.1:975")
    settings = load(tmp_path, others + TLS_SECTIONS)
    assert (settings.grpc, settings.http, settings.raft) == ("10.0.0.1:9750", "10.0.0.1:9751", "10.0.0.1:9752")
    assert settings.grpc_tls == config.TlsConfig(
        Path("/etc/clients-ca.pem"), Path("/etc/g1.pem"), Path("/etc/g1.key"), Path("/etc/clients-crl.pem")
    )
    ca = Path("/etc/clients-ca.pem")
    assert settings.http_tls == config.HttpTlsConfig(Path("/etc/g1.pem"), Path("/etc/g1.key"), ca)
    for section, setting in (("grpc_tls", "grpc"), ("http_tls", "http"), ("tls", "raft")):
        before, _, after = (others + TLS_SECTIONS).partition(f"[{section}]\n")
        without = before + after[after.index("[") if "[" in after else len(after) :]
        with pytest.raises(InvalidInput, match=rf"{setting} is '10.0.0.1:975\d', .* without TLS: give \[{section}\]"):
            load(tmp_path, without)


def test_certificates_without_roles_are_cautioned_of(tmp_path: Path) -> None:
    (sentence,) = config.cautions_of(load(tmp_path, GOOD + TLS_SECTIONS))
    assert "every certificate of /etc/clients-ca.pem may do everything" in sentence
    assert "add [security] with a roles file" in sentence
    security = '[security]\nroles = "/etc/roles.toml"\nkey_file = "/etc/members.key"\n'
    assert config.cautions_of(load(tmp_path, GOOD + TLS_SECTIONS + security)) == ()
    assert config.cautions_of(load(tmp_path, GOOD)) == ()
    shared = GOOD.replace("[tls]\n", "[tls]\nallow_shared_ca = true\n")
    (sentence,) = config.cautions_of(load(tmp_path, shared))
    assert "opens the Raft port, a client's too: tls.allow_shared_ca is true" in sentence


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ('[grpc_tls]\nca = "a"\nkey = "b"', "grpc_tls.certificate is"),
        ('[grpc_tls]\nca = "a"\ncertificate = "c"\nkey = "b"\nca_file = "d"', "grpc_tls.ca_file is not a setting"),
        (
            '[grpc_tls]\nca = "a"\ncertificate = "c"\nkey = "b"\nallow_shared_ca = true',
            "grpc_tls.allow_shared_ca is not",
        ),
        ('[http_tls]\ncertificate = "c"', "http_tls.key is"),
        ('[http_tls]\ncertificate = "c"\nkey = "k"\ncrl = "d"', "http_tls.crl is given without ca"),
        ('[reporter_tls]\nca = "a"\ncertificate = "c"\nkey = "k"\ncrl = "d"', "reporter_tls.crl is not a setting"),
    ],
)
def test_a_section_of_tls_that_is_wrong_is_refused(tmp_path: Path, section: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        load(tmp_path, f"{GOOD}{section}\n")


def test_clients_are_told_another_address_when_told_so(tmp_path: Path) -> None:
    text = 'allow_plaintext = true\nadvertise = "g1.example:9750"\n' + GOOD.replace("127.0.0.1:9750", "0.0.0.0:9750")
    assert load(tmp_path, text).client_address == "g1.example:9750"


def test_a_member_that_joins_names_whom_it_hears(tmp_path: Path) -> None:
    text = "join = true\n" + GOOD
    assert load(tmp_path, text).join
    with pytest.raises(InvalidInput, match=r"join is true, but \[peers\] is empty: name the members"):
        load(tmp_path, text.replace('[peers]\ng2 = "127.0.0.1:9762"\n', ""))
    with pytest.raises(InvalidInput, match="lake is the local path '/tmp/lake', which the group on other hosts"):
        load(tmp_path, text.replace("127.0.0.1:9752", "10.0.0.9:9752"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "g1"', "", r"name is missing: give the member's name"),
        ("127.0.0.1:9750", "127.0.0.1", r"grpc is '127.0.0.1': use host:port"),
        ("127.0.0.1:9750", "127.0.0.1:99999", r"grpc is '127.0.0.1:99999': use host:port"),
        ("127.0.0.1:9751", "0.0.0.0:9751", r"http is '0.0.0.0:9751', which others reach without TLS"),
        ("interval_s = 2", "interval_s = 0", r"collect.interval_s is 0: use more than 0, up to 86400"),
        ("warm_up_s = 0", "warm_up_s = -1", r"execute.tiered_warm_up_s is -1: use 0 to 86400"),
        ("interval_s = 2", 'interval_s = "2"', r"collect.interval_s is '2': give a number"),
        ("interval_s = 2", "intervall_s = 2", r"collect.intervall_s is not a setting: did you mean interval_s\?"),
        ('name = "g1"', 'name = "../g1"', r"name has '../g1': use up to 63 letters"),
        ("g2 =", '"g 2" =', r"peers has 'g 2': use up to 63 letters"),
        ('name = "g1"', 'name = "g2"', r"peers names this member itself, 'g2'"),
        ("127.0.0.1:9762", "10.0.0.2:9762", r"lake is the local path '/tmp/lake', which the member g2 on another host"),
        ('name = "g1"', 'name = "g1"\njoin = 1', r"join is 1: use true or false"),
        ('name = "g1"', 'name = "g1"\nadvertise = "g1"', r"advertise is 'g1': use host:port"),
        ('name = "g1"', 'name = "g1"\nadvertise = ""', r"advertise is '': give a non-empty string"),
        (
            'name = "g1"\ndata = "/tmp/g1"\ngrpc = "127.0.0.1:9750"',
            'name = "g1"\ndata = "/tmp/g1"\nallow_plaintext = true\ngrpc = "0.0.0.0:9750"',
            r"advertise is empty and grpc is '0.0.0.0:9750'",
        ),
        ('key = "/etc/g1.key"', "", r"tls.key is missing: give the private key"),
        ("key =", "kee =", r"tls.kee is not a setting"),
        ("key =", "allow_shared_ca = 1\nkey =", r"tls.allow_shared_ca is 1: use true or false"),
        ("reserve_mb = 64", "reserve_mb = -1", r"disk.reserve_mb is -1: use 0 to"),
        ("reserve_mb = 64", "reserve_mb = 1.5", r"disk.reserve_mb is 1.5: give a whole number"),
        ("sessions = 1000", "sessions = 3", r"limits.sessions is 3: use 100 to"),
        ("sessions = 1000", "sesions = 3", r"limits.sesions is not a setting"),
        ("[peers]", "peers = 3\n[other]", r"other is not a setting"),
        ("[collect]", "[collect", r"is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path, GOOD.replace(old, new))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere.toml can't be read: No such file"):
        config.load(tmp_path / "nowhere.toml")


def test_the_embedded_member_tells_clients_in_any_folder_where_its_lake_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.embedded(Path("data")).lake == str(tmp_path / "data" / "lake")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("floor_mb_per_s = 2.5", "floor_mb_per_s = 0", "throttle.floor_mb_per_s is 0"),
        ("floor_mb_per_s = 2.5", "floor = 2", "throttle.floor is not a setting"),
        ("floor_mb_per_s = 2.5", "ceiling_mb_per_s = 0.5", "throttle.ceiling_mb_per_s is 0.5, below the floor of 1"),
        ("floor_mb_per_s = 2.5", "floor_mb_per_s = inf", "throttle.floor_mb_per_s is inf"),
        ("p99_factor = 1.3", "p99_factor = 1", "throttle.p99_factor is 1: use more than 1"),
        ("p99_factor = 1.3", "adaptive = 1", "throttle.adaptive is 1: use true or false"),
        ("metrics = true", 'metrics = "no"', "throttle.adapt_without_disk_metrics is 'no': use true"),
        ("p99_factor = 1.3", "disk_utilisation = nan", "throttle.disk_utilisation is nan"),
        ("per_broker_in = 3", "per_broker_in = 0", "execute.per_broker_in is 0: use 1 to 10000"),
        ("per_broker_in = 3", "broker_timeout_s = 0", "execute.broker_timeout_s is 0: use 0.1 to 10"),
        ("per_broker_in = 3", "per_broker_in = 1.5", "execute.per_broker_in is 1.5: give a whole number"),
        ("per_broker_in = 3", "per_brokers = 1", "execute.per_brokers is not a setting"),
    ],
)
def test_limits_of_moves_and_rates_are_checked(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(tmp_path, GOOD.replace(old, new))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("more", "setting"),
    [
        ("", "tls.key"),
        ('[security]\nroles = "/r/roles.toml"\nkey_file = "/etc/members.key"', "security.key_file"),
        ('[security]\nroles = "/etc/roles.toml"\nkey_file = "/r/members.key"', "security.roles"),
        ('[security]\nroles = "/r/r"\nkey_file = "/r/k"\ntokens = "/etc/x/../tokens.toml"', "security.tokens"),
    ],
)
def test_what_is_the_members_own_is_no_secret_that_a_cluster_can_name(tmp_path: Path, more: str, setting: str) -> None:
    text = 'secrets = "/etc"\n' + GOOD
    if more:
        text = text.replace('key = "/etc/g1.key"', 'key = "/k/g1.key"') + more
    with pytest.raises(InvalidInput, match=rf"secrets is '/etc', and {setting} is in that folder"):
        load(tmp_path, text)
    kept = load(tmp_path, 'secrets = "/etc/guardian/secrets"\n' + GOOD)
    assert kept.secrets == Path("/etc/guardian/secrets")


def test_neither_is_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "keys")
    text = f'secrets = "{tmp_path}/linked"\n' + GOOD.replace("/etc/g1.key", f"{tmp_path}/keys/g1.key")
    with pytest.raises(InvalidInput, match=r"and tls\.key is in that folder"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("section", "may"),
    [
        ("", True),
        ('[tls]\nca = "a"\ncertificate = "c"\nkey = "k"\n', True),
        ('[grpc_tls]\nca = "a"\ncertificate = "c"\nkey = "k"\n', False),
        ('[http_tls]\ncertificate = "c"\nkey = "k"\n', False),
        ('[security]\nroles = "r"\nkey_file = "k"\n', False),
    ],
)
def test_the_author_approves_only_where_callers_may_be_anybody(section: str, may: bool, tmp_path: Path) -> None:
    without = GOOD[: GOOD.index("[tls]")]
    assert load(tmp_path, f"{without}{section}").author_may_approve is may
