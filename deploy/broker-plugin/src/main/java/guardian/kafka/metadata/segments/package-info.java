/** Keeps one partition's segments in memory, packed, and finds them there; no threads of its own, and no calls. */
package guardian.kafka.metadata.segments;
