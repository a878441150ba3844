"""Real Kafka clusters and Guardian members on one machine: for the demo, the tests and anyone who wants to look."""
