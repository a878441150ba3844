"""The planner's settings as a member tells them: the section [planner] <-> protobuf."""

from __future__ import annotations

import math
from collections.abc import Mapping

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct


def planner_to_proto(section: Mapping[str, object]) -> Struct:
    """Without what is infinite, which JSON does not have: all that may be infinite is so by default."""
    return ParseDict({name: value for name, value in section.items() if not _is_infinite(value)}, Struct())


def planner_from_proto(told: Struct) -> dict[str, object]:
    """The section as it was written; whole numbers have become numbers."""
    found: dict[str, object] = MessageToDict(told)
    return found


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value)
