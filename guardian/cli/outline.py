"""The commands of `guardian` at a glance: name, group, help and place of each, without importing any.

`guardian --help` prints this alone. A test compares it with the commands (tests/unit/cli/test_outline.py).
"""

from __future__ import annotations

import shutil
import textwrap
from typing import NamedTuple

ABOUT = "One control service for a federation of Apache Kafka clusters."
_OPTIONS = (
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Show completion for the current shell, to copy it or customize the installation."),
    ("-h, --help", "Show this message and exit."),
)
_MOST_COLUMNS = 100
_INDENT = "  "


class Entry(NamedTuple):
    """A command, or a noun with commands below it: `place` is its module below guardian and its name there."""

    name: str
    place: str
    help: str


class Group(NamedTuple):
    """Commands for one purpose, which is their heading."""

    heading: str
    entries: tuple[Entry, ...]


OUTLINE: tuple[Group, ...] = (
    Group(
        "See what there is and how it does",
        (
            Entry(
                "status",
                "cli.status:status",
                "Show each member: its leader, term, applied index and share of the brokers. One "
                "endpoint is enough to find all.",
            ),
            Entry(
                "findings",
                "health.commands.findings:findings",
                "Show what is wrong now: brokers down, log dirs offline, topics at risk, slow "
                "disks, lines near their limit.",
            ),
            Entry(
                "events",
                "events.commands:events",
                "Show what happened to tickets and throttles, oldest first; with --follow also "
                "what happens, until Ctrl-C.",
            ),
            Entry("cluster", "federation.commands.cluster:app", "Register, list and remove Kafka clusters."),
            Entry(
                "broker",
                "federation.commands.broker:app",
                "List brokers, look at one, hold copies back there; remove brokers, take them "
                "offline and back, restart them.",
            ),
            Entry(
                "topic",
                "federation.commands.federation:topics",
                "The topic directory: whose a topic is, and what is expected of it.",
            ),
            Entry(
                "quota", "health.commands.kafka_settings:quotas", "What Kafka lets clients use, by user and client id."
            ),
            Entry("group", "health.commands.group:app", "See what consumer groups do to the brokers."),
            Entry(
                "disk",
                "health.commands.disk:app",
                "Find slow and overloaded disks, and see what is held back for them.",
            ),
            Entry(
                "links",
                "links.commands:links",
                "Show what crosses the lines between IDCs: producers, consumers and replication, "
                "each way, and what it costs.",
            ),
            Entry(
                "durability",
                "health.commands.durability:durability",
                "Rate the durability of topics, and say what the loss of a broker, a rack or an IDC would do to them.",
            ),
            Entry(
                "forecast",
                "planning.commands.forecast:forecast",
                "Say in how many days disks are full and brokers hot, with a 95 % band, from the trend in the lake.",
            ),
            Entry(
                "what-if",
                "planning.commands.whatif:app",
                "What would happen to data and load, if: a dry run of bad days and of growth.",
            ),
        ),
    ),
    Group(
        "Plan and change",
        (
            Entry(
                "plan",
                "planning.commands.plan.commands:app",
                "Have plans made, of any kind, and score those of others.",
            ),
            Entry(
                "analyze",
                "planning.commands.analyze:analyze",
                "Plan how to balance every cluster, again and again; one line a round. It ends on SIGTERM or Ctrl-C.",
            ),
            Entry(
                "ticket",
                "tickets.commands.ticket:app",
                "Submit, approve, watch, pause, cancel and roll back tickets.",
            ),
            Entry(
                "healing",
                "healing.commands:app",
                "What is done by itself about broken brokers and disks, and why not.",
            ),
            Entry("exclusion", "cordons.commands:exclusions", "Brokers that get no new replicas."),
            Entry(
                "acl",
                "tickets.commands.acl:app",
                "Put access rules right: add what is missing, take out what nobody uses.",
            ),
        ),
    ),
    Group(
        "Describe the federation",
        (
            Entry(
                "apply",
                "federation.commands.apply:app",
                "Make the federation as a file says (federation.yaml); `guardian apply -f FILE` is enough.",
            ),
            Entry(
                "tenant",
                "federation.commands.federation:tenants",
                "Tenants, and the broker labels that their topics may use.",
            ),
            Entry("machine", "federation.commands.federation:machines", "The pool of machines, free or in a cluster."),
            Entry(
                "idc-policy",
                "federation.commands.federation:idc_policies",
                "How many replicas live in which data centre.",
            ),
            Entry(
                "import",
                "federation.commands.interchange:imports",
                "Take over files of other tools; says what of them can't be kept.",
            ),
            Entry(
                "export",
                "federation.commands.interchange:exports",
                "Write files that other tools, and guardian apply, read.",
            ),
        ),
    ),
    Group(
        "Say who you are, and who may do what",
        (
            Entry(
                "login",
                "security.commands.login:login",
                "Sign in at your organisation's provider of identities: open the address shown, in any browser.",
            ),
            Entry("logout", "security.commands.login:logout", "Forget what `guardian login` got for these members."),
            Entry(
                "whoami",
                "security.commands.whoami:whoami",
                "Show who the members take you for: your name, how it was proven, your roles, and until when.",
            ),
            Entry(
                "roles",
                "security.commands.roles:roles",
                "Show who has which role now, and whether the replicated store or the asked member's file says so.",
            ),
            Entry("token", "security.commands.token:app", "Tokens by which programs, and people, say who they are."),
            Entry(
                "certs",
                "security.commands.certs:app",
                "Certificates: a development authority, and when those in use expire (docs/tls.md).",
            ),
            Entry(
                "audit",
                "security.commands.audit_export:audit",
                "Who changed what in Guardian, and who did what on the clusters.",
            ),
        ),
    ),
    Group(
        "Run Guardian",
        (
            Entry(
                "server",
                "member.commands.server:server",
                "Run a member: Raft, store, gRPC, HTTP, collector and, on the leader, the executor.",
            ),
            Entry("config", "member.commands.config:app", "Settings of members, and of the files that they name."),
            Entry("collection", "collection.commands:collection", "Show which member collects which brokers' metrics."),
            Entry(
                "raft",
                "replication.commands.raft:app",
                "Look at the Raft group, change its members, take and restore snapshots.",
            ),
            Entry(
                "tiering",
                "tiering.commands.tiering:app",
                "Tiered storage: the segments that brokers keep track of here, orphans, and what "
                "the remote store holds.",
            ),
            Entry(
                "support-bundle",
                "member.commands.support_bundle:support_bundle",
                "Gather what somebody needs to help you: status, Raft, tickets, events, findings, "
                "metrics, configurations, logs.",
            ),
            Entry(
                "local",
                "cli.local:app",
                "Kafka clusters, traffic and Guardian members on this machine ($GUARDIAN_LOCAL, else .guardian/local).",
            ),
        ),
    ),
    Group(
        "Work with this program",
        (
            Entry(
                "context",
                "cli.context:app",
                "Name the federations that you work with, and say which one commands talk to.",
            ),
            Entry("version", "cli.tree:version", "Print the version."),
            Entry("docs", "member.commands.docs:app", "Pages of the documentation that are made from the code."),
        ),
    ),
)
PLACES: dict[str, str] = {entry.name: entry.place for group in OUTLINE for entry in group.entries}


def help_text(columns: int = 0) -> str:
    """Return what `guardian --help` prints, wrapped at so many columns; 0: the terminal's, at most 100."""
    width = columns or min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    sections: list[tuple[str, tuple[tuple[str, str], ...]]] = [("Options", _OPTIONS)]
    sections += [(group.heading, tuple((each.name, each.help) for each in group.entries)) for group in OUTLINE]
    blocks = ["Usage: guardian [OPTIONS] COMMAND [ARGS]...", "\n".join(textwrap.wrap(ABOUT, width))]
    blocks += ["\n".join([f"{heading}:", *_rows(rows, width)]) for heading, rows in sections]
    blocks.append("guardian COMMAND --help says more about one.")
    return "\n\n".join(blocks) + "\n"


def _rows(rows: tuple[tuple[str, str], ...], width: int) -> list[str]:
    start = max(len(name) for entries in (_OPTIONS, *(group.entries for group in OUTLINE)) for name, *_ in entries) + 4
    text_width = max(width - start, 20)
    lines = []
    for name, text in rows:
        first, *others = textwrap.wrap(text, text_width)
        lines.append(f"{_INDENT}{name}".ljust(start) + first)
        lines += [" " * start + each for each in others]
    return lines
