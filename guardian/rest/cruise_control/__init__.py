"""Cruise Control's REST API, for one cluster of the federation a path: what its users, scripts and tools have already.

    endpoints.py       each endpoint: method, role, parameters, what of them has no effect here and why
    parameters.py      a query string becomes an `Asked`, or one sentence
    topic_body.py      the only body that is read: topics by their replication factor
    tasks.py           user tasks: a request that lasts goes on while its client polls
    kept.py            user tasks as all members know them
    placing.py         where replicas are, before and after a plan, and what brokers then carry
    loads.py           load and partition_load; optimization.py: plans; cluster_state.py, state.py, user_tasks.py,
    reviews.py         ... the other answers, as JSON and as text
    requests.py        what Guardian is asked to do by a request: a planner's task, with settings
    failures.py        what a failure is called, and its status
    calls.py           one request of somebody, and what the endpoints look up for it
    proposals.py       endpoints that make plans, and the tickets that these become
    operations.py      all other endpoints, carried out
    routes.py          HTTP

Names, units and shapes are Cruise Control's (MB and KB are of 1024); what Guardian adds is under the key "guardian".
Nothing moves beside tickets: `dryrun=false` makes one, which the approval policy lets run or keeps waiting.
"""
