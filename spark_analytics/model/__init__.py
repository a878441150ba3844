"""The cluster as immutable numpy arrays, and the load on them. Pure."""
