/** Reads every number that Yammer, Kafka and the JVM have, and batches it under names that are sent once. */
package guardian.kafka.reporter.metrics;
