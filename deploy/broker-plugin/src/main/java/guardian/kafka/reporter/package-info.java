/**
 * Serves what a broker and its host have to tell: over gRPC to Guardian's members, here, and over HTTP in {@code scrape}.
 *
 * <p>It imports all packages below it; {@code scrape} imports {@code metrics}, what is served, and {@code listener}, what
 * HTTP shares with gRPC; {@code metrics} imports {@code host}, to tell it how large the broker's logs are. Nothing imports
 * what is above it.
 */
package guardian.kafka.reporter;
