"""Reference pages, made of the code when the site is built: they can't be out of date.

metrics       ── every metric family that guardian/ makes, found in its syntax
errors        ── the tree of guardian/errors.py, and what exit codes say
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from guardian import errors
from guardian.cli.exits import MEANINGS, exit_code_of

ROOT = Path(__file__).parents[2]
_KINDS = {
    "GaugeMetricFamily": "gauge",
    "CounterMetricFamily": "counter",
    "SummaryMetricFamily": "summary",
    "HistogramMetricFamily": "histogram",
    "_gauge": "gauge",
    "_count": "counter",
}


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A counter's name ends with `_total` in what is scraped."""

    name: str
    kind: str
    documentation: str
    labels: tuple[str, ...]

    @property
    def scraped(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name


def metric_families(root: Path = ROOT / "guardian") -> tuple[MetricFamily, ...]:
    """Those whose name is written out, by name; each once."""
    found = {family.name: family for path in sorted(root.rglob("*.py")) for family in _families_in(path.read_text())}
    return tuple(found[name] for name in sorted(found))


def _families_in(source: str) -> Iterator[MetricFamily]:
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        arguments = call.args
        label: list[str] = []
        if function == "_by":  # (the family, its name, its documentation, its one label, values)
            function, label = getattr(arguments[0], "id", ""), [str(getattr(arguments[3], "value", ""))]
            arguments = arguments[1:]
        words = [each.value for each in arguments[:1] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if function not in _KINDS or not words or not words[0].startswith("guardian_"):
            continue
        said = arguments[1] if len(arguments) > 1 else None
        documentation = str(said.value) if isinstance(said, ast.Constant) else ""
        labels = next((each.value for each in call.keywords if each.arg == "labels"), None)
        names = [str(each.value) for each in ast.walk(labels) if isinstance(each, ast.Constant)] if labels else []
        yield MetricFamily(words[0], _KINDS[function], documentation, tuple(names or label))


def metrics_page() -> str:
    rows = "\n".join(
        f"| `{each.scraped}` | {each.kind} | {', '.join(each.labels) or '-'} | {each.documentation} |"
        for each in metric_families()
    )
    return f"""# Metrics of a member

At `/metrics` of every member's HTTP port; `/metrics/tenants` has the topic directory. What
alerts watch is in the run-book; metrics of brokers are on the page of the reporter.

| metric | type | labels | what it says |
|---|---|---|---|
{rows}

A histogram has `_bucket`, `_sum` and `_count`; a summary `_sum` and `_count`. Raft itself keeps some more
gauges under `guardian_raft_…`, such as `guardian_raft_proposals_waiting`.
"""


def errors_page() -> str:
    def one_line(kind: type) -> str:
        return " ".join((kind.__doc__ or "").split())

    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.GuardianError)
    ]
    rows = "\n".join(f"| `{each.__name__}` | {_exit_code(each)} | {one_line(each)} |" for each in kinds)
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())
    tree = (errors.__doc__ or "").partition("\n\n")[2].partition("\n\n")[0]
    return f"""# Errors and exit codes

Whatever is refused is told in one sentence that can be shown to a person: the field, the value, the fix. Nothing is
changed by what was refused.

```
{tree}
```

| error | exit code of the CLI | when |
|---|---|---|
{rows}

## Exit codes

| code | what it says |
|---|---|
{codes}
| 70 | `guardian server` only: a disk failed. Do not start the member again: replace it |
"""


def _exit_code(kind: type[errors.GuardianError]) -> int:
    return exit_code_of(kind.__new__(kind))


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/metrics.md": metrics_page,
    "reference/errors.md": errors_page,
}
