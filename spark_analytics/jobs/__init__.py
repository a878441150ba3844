"""What is submitted to Spark: one entry a file.

    plans      a plan for each cluster, of any kind
    measure    how loaded brokers and disks are
    whatif     what would happen if
    forecast   when disks fill up and brokers get hot

Each is a function for who has a session, and `python -m spark_analytics.jobs.<name>` or spark-submit for who has not.
"""
