"""Set values in Kafka and in the directory, and restore what they replaced."""
