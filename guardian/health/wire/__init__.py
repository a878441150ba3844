"""Nouns to and from protobuf."""
