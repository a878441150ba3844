"""Share what all gRPC services and HTTP routes of a member need."""
