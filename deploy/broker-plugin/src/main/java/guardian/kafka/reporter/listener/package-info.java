/** Holds what both listeners, gRPC's and HTTP's, share: their settings, and the connections that one may have. */
package guardian.kafka.reporter.listener;
