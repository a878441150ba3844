"""What the console and the REST API are given by the member: they know no server, no store and no broker.

parts.py     WebParts, and who asks
keeping.py   what is dear to look at, kept for a few seconds
"""
