"""A fleet of brokers that do not exist: one process answers for a thousand of them, as their plugins would.

    clocks.py      pure: how load rises and falls with time
    shape.py       pure: which clusters, brokers, topics and replicas there are
    names.py       pure: the names of a broker's metrics, as Kafka names them
    model.py       pure: all that a broker answers at a given time
    activity.py    pure: who produced and consumed, minute by minute
    truth.py       a cluster in memory, whose time is the clock's: it begins as its shape says, and copies what is moved
    protocol/      Kafka's protocol: an answer to every kind of request that Guardian sends, a module for each subject
    listening.py   its listeners, one for each broker and one for the controller
    serving.py     the reporters' servers
    run.py         all of it in one process, for `guardian local fleet`

Everything pure is a function of the specification and a time. A fleet that is started again goes on where it would be
now, two processes agree, and tests need no clock. What tickets change is in the truth alone: reporters tell load and
log dirs as the shape has them, and a fleet that is started again has forgotten it.
"""
