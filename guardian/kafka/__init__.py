"""The port to real brokers: `admin.KafkaAdmin` is the Protocol; `control` speaks it to Kafka, `fake` imitates Kafka.

Client libraries are imported by `kafka_python` and, for records, by `data`; no other module touches them.
"""
