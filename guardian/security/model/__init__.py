"""Nouns of this capability: frozen values."""
