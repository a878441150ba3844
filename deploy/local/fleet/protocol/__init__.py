"""Kafka's protocol as simulated brokers speak it: one module for each subject, as in guardian/kafka."""
