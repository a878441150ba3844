"""What a loss, a growth or a bigger machine would do to a cluster. Pure."""
