"""Makers of plans: (model, settings) -> Plan. Pure."""
