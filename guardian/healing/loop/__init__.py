"""What runs beside requests: reads, commits, sends."""
