"""The commands of `guardian plan`, one for each kind of plan: what an operator types becomes a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from guardian.cli.shared import made_of, with_options_of
from guardian.errors import InvalidInput
from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.model.units import parse_bytes
from guardian.planning.commands.plan.carrying_out import carry_out
from guardian.planning.commands.plan.checking import check_plan
from guardian.planning.commands.plan.offline import plan_model, score_placement
from guardian.planning.commands.plan.overrides import Overrides
from guardian.planning.commands.plan.request import request
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, OrderedTask

_MAX_ID_DIGITS = 10  # int() refuses thousands of them

app = typer.Typer(help="Have plans made, of any kind, and score those of others.", no_args_is_help=True)

_TopicsOption = Annotated[
    list[str] | None, typer.Option("--topic", help="May be repeated and end in a star.", show_default="all")
]
_TenantOption = Annotated[str, typer.Option("--tenant", help="A tenant's topics.", show_default="none")]
_BrokersOption = Annotated[
    list[int] | None, typer.Option("--broker", help="A broker's id; may be repeated.", show_default="none")
]
_LogDirsOption = Annotated[
    list[str] | None,
    typer.Option("--log-dir", help="A log dir as BROKER:/PATH; may be repeated.", show_default="none"),
]


def balance(topics: _TopicsOption = None) -> Balance:
    """Spread use evenly over brokers, their disks and leaders, for the least data; a draft ticket of each plan.

    --target-spread asks for more or less evenness, --max-bytes and --max-time for the best plan within a budget.

    Example: guardian plan balance --cluster live --window 30m --dry-run

    Example: guardian plan balance --cluster live --max-bytes 2TB --picture plan.html
    """
    return Balance(topics=tuple(topics or ()))


def leaders(
    topics: _TopicsOption = None,
    away_from: Annotated[
        list[int] | None,
        typer.Option("--away-from", help="A broker that shall lead nothing; may be repeated.", show_default="none"),
    ] = None,
) -> Leaders:
    """Spread leaders evenly without copying anything: the order of replicas changes, and who leads.

    Example: guardian plan leaders --cluster live --dry-run

    Example: guardian plan leaders --cluster live --away-from 7
    """
    return Leaders(topics=tuple(topics or ()), away_from=tuple(away_from or ()))


def isolate(
    label: Annotated[str, typer.Option(help="The label whose topics get machines of their own.")],
    topics: _TopicsOption = None,
    tenant: _TenantOption = "",
    brokers: _BrokersOption = None,
    from_pool: Annotated[
        bool, typer.Option("--from-pool", help="Take free machines of the pool, as few as carry the load.")
    ] = False,
    release: Annotated[
        int | None, typer.Option(help="Give this many machines back: those emptied for the least data.")
    ] = None,
    headroom: Annotated[float, typer.Option(help="Share of today's load that must fit on top, such as 0.2.")] = 0.0,
) -> IsolateOrder:
    """Put a label's topics onto machines of their own: grow, shrink, return machines to the pool.

    Brokers that it takes or gives back, and topics named here, have the label, or lose it, when the ticket succeeds.

    A plan that takes machines of the pool becomes no ticket (exit code 1) before they have joined as brokers.

    Example: guardian plan isolate --cluster live --label payments --tenant pay --broker 7 --broker 8

    Example: guardian plan isolate --cluster live --label payments --release 1
    """
    return IsolateOrder(
        label=label,
        topics=tuple(topics or ()),
        tenant=tenant,
        brokers=tuple(brokers or ()),
        from_pool=from_pool,
        release=release,
        headroom=headroom,
    )


def migrate_idc(
    policy: Annotated[str, typer.Option(help="The IDC policy (guardian idc-policy) that placement shall follow.")],
    topics: _TopicsOption = None,
    tenant: _TenantOption = "",
) -> MigrateIdcOrder:
    """Move topics, a tenant or a whole cluster to other IDCs by a policy; shows what lines carry before and after.

    Between clusters offsets would change: this moves replicas inside one cluster that has brokers in both IDCs.

    Example: guardian plan migrate-idc --cluster live --policy shanghai-2-suzhou-1 --topic 'orders*'
    """
    return MigrateIdcOrder(policy=policy, topics=tuple(topics or ()), tenant=tenant)


def remove(
    brokers: _BrokersOption = None,
    balance: Annotated[bool, typer.Option("--balance", help="Balance the brokers that stay in the same plan.")] = False,
) -> Remove:
    """Empty brokers that shall leave the cluster; says how many of them could go when not all can.

    Example: guardian plan remove --cluster live --broker 7 --broker 8 --dry-run
    """
    return Remove(brokers=tuple(brokers or ()), balance=balance)


def add(brokers: _BrokersOption = None) -> Add:
    """Give new brokers their share, and move nothing else.

    Example: guardian plan add --cluster live --broker 11 --broker 12
    """
    return Add(brokers=tuple(brokers or ()))


def preallocate(
    topic: Annotated[str, typer.Option(help="The topic to be created, or to get more partitions.")],
    partitions: Annotated[int, typer.Option(help="How many partitions it shall have afterwards.")],
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", help="Of a new topic.", show_default="3")
    ] = 3,
    expand: Annotated[bool, typer.Option("--expand", help="The topic exists: place only what is added.")] = False,
    expected_size: Annotated[
        str, typer.Option(help="What one replica of one partition will hold, such as 20GB.", show_default="not known")
    ] = "",
    configs: Annotated[
        list[str] | None,
        typer.Option("--config", help="Of a new topic, as KEY=VALUE; may be repeated.", show_default="none"),
    ] = None,
) -> CreateTopicOrder | ExpandTopic:
    """Choose where a new topic's partitions go, by disk use and expected traffic, inside its label's machines and IDCs.

    Label, tenant, IDC policy and expected traffic are those of the topic directory (guardian topic put).

    The ticket creates them there, log dirs included; Guardian never deletes a topic, also when the ticket is cancelled.

    Example: guardian plan preallocate --cluster live --topic orders --partitions 24 --expected-size 20GB

    Example: guardian plan preallocate --cluster live --topic logs --partitions 6 --config retention.ms=3600000
    """
    if expand:
        if configs:
            raise InvalidInput("--config is for a new topic: leave it out with --expand")
        return ExpandTopic(topic=topic, partitions=partitions)
    size = parse_bytes("--expected-size", expected_size) if expected_size else 0
    return CreateTopicOrder(topic, partitions, replication_factor, size, _configs(configs))


def replication_factor(
    to: Annotated[int, typer.Option(help="How many replicas each partition shall have.")],
    topics: _TopicsOption = None,
) -> ReplicationFactor:
    """Give topics more replicas, or fewer.

    Never fewer than min.insync.replicas, and replicas go only while those that stay are in sync.

    Example: guardian plan replication-factor --cluster live --topic orders --to 3
    """
    return ReplicationFactor(topics=tuple(topics or ()), replication_factor=to)


def empty_disk(log_dirs: _LogDirsOption = None) -> EmptyDisk:
    """Empty log dirs: onto other disks of the same broker while there is room, then onto other brokers.

    Example: guardian plan empty-disk --cluster live --log-dir 7:/data/d3
    """
    return EmptyDisk(log_dirs=_parsed(log_dirs))


def relieve(
    below: Annotated[float, typer.Option(help="Share of a disk's bytes to get below.")] = 0.8,
    brokers: _BrokersOption = None,
    log_dirs: _LogDirsOption = None,
) -> Relieve:
    """A disk is full now: the least data that brings it below a limit. Without names: every disk above it.

    Example: guardian plan relieve --cluster live --broker 7 --below 0.75
    """
    return Relieve(limit=below, brokers=tuple(brokers or ()), log_dirs=_parsed(log_dirs))


def heal() -> Heal:
    """Move what lies on dead brokers and broken disks, or breaks a rack, IDC or label rule, and nothing else.

    Example: guardian plan heal --cluster live --dry-run
    """
    return Heal()


def _configs(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    found = []
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InvalidInput(f"config is {text!r}: use KEY=VALUE, such as retention.ms=3600000")
        found.append((key.strip(), value))
    return tuple(found)


def _parsed(log_dirs: list[str] | None) -> tuple[LogDir, ...]:
    found = []
    for text in log_dirs or ():
        broker, colon, path = text.partition(":")
        if not colon or not (broker.isascii() and broker.isdecimal()) or len(broker) > _MAX_ID_DIGITS:
            raise InvalidInput(f"log-dir is {text!r}: use BROKER:/PATH, such as 7:/data/d3")
        found.append(LogDir(int(broker), path))
    return tuple(found)


_COMMANDS: dict[str, Callable[..., OrderedTask]] = {
    "balance": balance,
    "leaders": leaders,
    "isolate": isolate,
    "migrate-idc": migrate_idc,
    "remove": remove,
    "add": add,
    "preallocate": preallocate,
    "replication-factor": replication_factor,
    "empty-disk": empty_disk,
    "relieve": relieve,
    "heal": heal,
}
for name, command in _COMMANDS.items():
    app.command(name)(with_options_of(request, carry_out, command))
app.command("model")(made_of(Overrides.of, plan_model))
app.command("score")(score_placement)
app.command("check")(made_of(Overrides.of, check_plan))
