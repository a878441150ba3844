"""In: segment metadata of brokers' tiered storage, over gRPC into the replicated store."""
