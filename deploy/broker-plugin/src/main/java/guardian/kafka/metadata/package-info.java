/**
 * Answers Kafka's RemoteLogManager: which segments each of the broker's partitions has, what may be written and by whom.
 *
 * <p>It imports {@code store}, which calls Guardian, and {@code segments}, which holds a partition's segments in memory;
 * {@code store} imports {@code segments} for an event's words, and nothing imports what is above it.
 */
package guardian.kafka.metadata;
