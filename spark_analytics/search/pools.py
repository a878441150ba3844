"""Which brokers are held against one another: those that rules let hold the same partitions."""

from __future__ import annotations

import numpy as np

from spark_analytics.model.cluster_model import Bools, Ints
from spark_analytics.search.rules import Rules


def pools_of(rules: Rules, alive: Bools) -> Ints:
    """[brokers] brokers that some class of partitions may use together share a number; -1: none may use it.

    Where only some of them are to take anything now, they are held against those that are to give.
    """
    together = rules.may_take if rules.compared is None else rules.compared
    takes = together[np.unique(rules.class_of)] & alive
    pool = np.arange(takes.shape[1])
    before = None
    while before is None or (pool != before).any():
        before = pool.copy()
        for takers in takes:
            if takers.any():
                pool[takers] = pool[takers].min()
    used = takes.any(axis=0)
    numbers = np.full(len(pool), -1)
    numbers[used] = np.unique(pool[used], return_inverse=True)[1]
    return numbers
