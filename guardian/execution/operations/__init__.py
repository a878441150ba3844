"""Tickets that are more than one plan: brokers removed, taken offline, brought online, restarted in batches."""
