"""Predicts what a fault does to a partition: what is lost, how long producers are silent, who leads afterwards. Pure.

event.py       what happens to brokers and links, with times.
stories.py     named faults as lists of events, which a lab can carry out as well.
times.py       the intervals that decide, from configuration, and how exactly Kafka keeps them.
controller.py  what KRaft's controller does to leader, ISR and ELR.
unfolding.py   controllers, brokers, one producer and one reader, played step by step.
client.py      what a client knows of who leads, and when it asks anew; producer.py and reader.py stand on it.
outcome.py     the outcome of all ways in which it can come.
fault.py       a fault as a person asks about it, and what it does to brokers.
cluster.py     a whole cluster as it is now, and a fault that hits it.
"""
