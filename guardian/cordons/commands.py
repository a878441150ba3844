"""`guardian exclusion cordons`: what keeps new replicas off excluded brokers. Added to the group of exclusions."""

from __future__ import annotations

from dataclasses import asdict

from guardian.cli.options import EndpointsOption, OnlyClusterOption, Output, OutputOption, connect
from guardian.cli.output_more import more_of
from guardian.cli.render import human_time, print_json, print_table
from guardian.federation.commands.federation import exclusions
from guardian.model.cordon import Cordon

__all__ = ["exclusions"]


@exclusions.command("cordons")
def list_cordons(
    cluster: OnlyClusterOption = "", endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE
) -> None:
    """List what Guardian has set on excluded brokers, what that replaced, and what is waited for.

    Example: guardian exclusion cordons --cluster live
    """
    with connect(endpoints) as client:
        found = client.cordons(cluster)
    if output is Output.JSON:
        print_json([_as_json(cordon) for cordon in found])
        return
    rows = [
        (
            cordon.cluster,
            str(cordon.broker_id),
            human_time(cordon.since_ms),
            cordon.value or "-",
            cordon.replaced if cordon.replaced is not None else "nothing",
            cordon.note or ("being lifted" if cordon.is_lifted else "stands"),
        )
        for cordon in found
    ]
    print_table(
        ("CLUSTER", "BROKER", "SINCE", "CORDONED", "REPLACED", "STATE"),
        rows,
        ("BROKER",),
        more=more_of(found, "revision"),
    )


def _as_json(cordon: Cordon) -> dict[str, object]:
    return {name: value for name, value in asdict(cordon).items() if name != "held"}
