"""Messages of Kafka's protocol that kafka-python does not bring, in Kafka's own notation."""
