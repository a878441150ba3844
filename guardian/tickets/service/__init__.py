"""What a member answers, over gRPC and HTTP."""
