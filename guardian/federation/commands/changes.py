"""Changes of the federation, shown in the words of federation.yaml: + is new, ~ is another, - goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardian.cli.options import Output
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.federation.model import key_of
from guardian.federation.rules.declaring import Change, Changes, DropCluster, DropEntry, PutCluster, PutEntry
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire import federation_yaml
from guardian.federation.wire.federation_fields import Field
from guardian.model.federation import SharedDocument
from guardian.model.units import bytes_text

_FIELDS: Mapping[str, Mapping[str, Field]] = {**federation_yaml.FLAT, **federation_yaml.BY_CLUSTER}


def show(changes: Changes, output: Output, *, to_stderr: bool = False) -> None:
    if output is Output.JSON:
        print_json([_as_dict(change) for change in changes])
        return
    for change in changes:
        echo(f"{_sign(change)} {change.name}", err=to_stderr)
        for name, before, after in _differences(change):
            was = "" if before is None else f"{before or 'nothing'} -> "
            echo(f"    {name}: {was}{after or 'nothing'}", err=to_stderr)


def say_how_many(changes: Changes, output: Output, what: str) -> None:
    count = len([*changes])
    sentence = f"{count} changes {what}" if count else "nothing differs: nothing to do"
    echo(sentence.replace("1 changes", "1 change") if count == 1 else sentence, err=output is Output.JSON)


def _sign(change: Change) -> str:
    match change:
        case DropEntry() | DropCluster():
            return "-"
        case PutEntry() | PutCluster():
            return "~" if change.before is not None else "+"


def _as_dict(change: Change) -> dict[str, Any]:
    kinds = {"+": "add", "~": "change", "-": "drop"}
    return {
        "change": kinds[_sign(change)],
        "name": change.name,
        "where": change.where if isinstance(change, PutEntry | PutCluster) else "",
        "fields": [{"field": name, "before": before, "after": after} for name, before, after in _differences(change)],
    }


def _differences(change: Change) -> list[tuple[str, str | None, str | None]]:
    """Return the differences in the words of the file: name, before and after."""
    if isinstance(change, DropEntry | DropCluster):
        return []
    if isinstance(change, PutCluster) or isinstance(change.entry, SharedDocument):
        return [(each.field, each.before, each.after) for each in change.differences]
    words = {field.stands_for: (name, field) for name, field in _FIELDS[key_of(change.entry).kind].items()}
    found = []
    for each in change.differences:
        if each.field in words:  # what is left is the key
            name, field = words[each.field]
            found.append((name, _as_written(field, each.before), _as_written(field, each.after)))
    return found


def _as_written(field: Field, text: str | None) -> str | None:
    if not text:
        return text
    if field.read is of.size:
        return bytes_text(int(text))
    if field.read is of.topic_id:
        return of.topic_id_text(bytes.fromhex(text))
    if field.read is of.until:
        return of.until_text(int(text)) if int(text) else ""
    return text
