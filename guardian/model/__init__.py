"""Nouns: frozen values in Kafka's words, checked at birth. Standard library only."""
