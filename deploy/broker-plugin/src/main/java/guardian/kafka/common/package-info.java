/**
 * What several parts of the plugin need and none of them owns: TLS from files, daemon threads, channels to Guardian's
 * members, pauses between attempts, values of the broker's configuration, metrics of the plugin's own.
 *
 * <p>The packages beside this one are the parts that a broker switches on one by one: {@code reporter}, {@code activity},
 * {@code metadata}, {@code hdfs}, {@code placement}. They import this package and not each other, and it imports none of
 * them; PackagesTest says so, and names the exceptions. What only one part needs stays with that part.
 */
package guardian.kafka.common;
