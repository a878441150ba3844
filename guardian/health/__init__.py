"""Find what is wrong with clusters: disks, durability, replicas, limits."""
