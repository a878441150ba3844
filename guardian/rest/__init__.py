"""REST for programs, at the HTTP port of every member: Guardian's own API, and Cruise Control's for those who have it.

    parts.py            what the routes are made of: clients, the planner, Kafka, rates
    api.py              /api/v1: clusters, topics, plans, tickets, findings, events, members (docs/rest.md)
    schemas.py          its OpenAPI document, generated from the same protobuf messages that it answers with
    problems.py         errors as application/problem+json
    rates.py            what the newest samples say of a cluster, read in a process of its own
    cruise_control/     /clusters/{name}/kafkacruisecontrol and /kafkacruisecontrol (docs/cruise-control.md)

Whatever is read or changed goes through GuardianClient, as the CLI's calls do: validation, forwarding to the leader,
permissions and audit are those of gRPC.
"""
