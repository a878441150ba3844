"""Nouns to and from the text of federation.yaml."""
