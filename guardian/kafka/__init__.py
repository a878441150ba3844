"""The port to real brokers: `admin.KafkaAdmin` is the Protocol; `control` speaks it to Kafka, `fake` imitates Kafka."""
