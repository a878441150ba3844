"""What the goals have in common: the answer to "may this replica go there?", which says what to try instead."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Answers = npt.NDArray[np.int8]  # of Acceptance, [replicas, log dirs]


class Acceptance(IntEnum):
    """ACCEPT is 0, so that the answers of several goals combine by maximum."""

    ACCEPT = 0
    REPLICA_REJECT = 1  # not this replica: another one may go there
    LOG_DIR_REJECT = 2  # nothing may go there: stop trying this log dir


def answers(rejected: npt.NDArray[np.bool_], reason: Acceptance = Acceptance.REPLICA_REJECT) -> Answers:
    """`reason` where rejected, else ACCEPT."""
    return np.where(rejected, np.int8(reason), np.int8(Acceptance.ACCEPT))
