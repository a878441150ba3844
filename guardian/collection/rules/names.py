"""The names of a broker's metrics, as far as this caller knows them: for people, who ask for few.

A broker numbers its names once and tells a caller only those that it lacks. The caller alone keeps state: it says in
each call what it holds, and a broker that has started a new dictionary answers with all of it. Values here are frozen:
a call that fails leaves what was known untouched.
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2


@dataclass(frozen=True, slots=True)
class MetricNames:
    """The first `len(names)` names of the dictionary `id`; a name's position is its id."""

    id: int = 0
    names: tuple[str, ...] = ()

    def request(self, name_prefixes: tuple[str, ...] = ()) -> reporter_pb2.CollectRequest:
        """The call that is answered with the names that are missing here."""
        return reporter_pb2.CollectRequest(
            dictionary_id=self.id, known_names=len(self.names), name_prefixes=name_prefixes
        )

    def extended_by(self, batch: reporter_pb2.MetricBatch) -> MetricNames:
        """Return the names that are known after the batch.

        Raises InvalidInput when its names do not continue these: values could not be told apart any more.
        """
        require_continuation(batch, self.id, len(self.names))
        if batch.first_name_id == 0:
            return MetricNames(batch.dictionary_id, tuple(batch.names))
        return MetricNames(self.id, self.names + tuple(batch.names)) if batch.names else self


NOTHING_KNOWN = MetricNames()


def values_by_name(batch: reporter_pb2.MetricBatch, names: MetricNames) -> dict[str, float]:
    """The batch's values under their names; ids that have no name are left out.

    Raises InvalidInput when `ids` and `values` differ in length.
    """
    require_a_value_for_each_id(batch)
    known = names.names
    count = len(known)
    return {known[i]: value for i, value in zip(batch.ids, batch.values, strict=True) if i < count}


def require_continuation(batch: reporter_pb2.MetricBatch, dictionary_id: int, known: int) -> None:
    """Raises InvalidInput unless the batch's names begin a dictionary, or continue the `known` names of this one."""
    if batch.first_name_id and (batch.dictionary_id != dictionary_id or batch.first_name_id != known):
        raise InvalidInput(
            f"first_name_id is {batch.first_name_id} of dictionary {batch.dictionary_id:#x}: known are "
            f"{known} names of dictionary {dictionary_id:#x}, collect again with known_names=0"
        )


def require_a_value_for_each_id(batch: reporter_pb2.MetricBatch) -> None:
    """Raises InvalidInput when `ids` and `values` differ in length."""
    if len(batch.ids) != len(batch.values):
        raise InvalidInput(
            f"ids has {len(batch.ids)} entries and values has {len(batch.values)}: a batch needs one value for each id"
        )
