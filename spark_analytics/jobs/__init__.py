"""What is submitted to Spark: one entry a file."""
