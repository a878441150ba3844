"""Guardian: one control service for a federation of Apache Kafka clusters."""

import os

__version__ = "0.1.0"

# PySpark forks its process to start a JVM. gRPC's handlers for a fork abort the child now and then ("epoll_wait error:
# Bad file descriptor"), and the child needs none of it: it executes Java. To be said before gRPC is loaded.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
