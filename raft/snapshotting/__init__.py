"""Copies of the whole state: made, checked, streamed to a follower, packed for people."""
