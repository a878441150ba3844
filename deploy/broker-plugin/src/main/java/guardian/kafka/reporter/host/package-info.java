/** Reads the host as /proc, the mounts and the log dirs show it: disks, memory, CPU, NICs, pressure. */
package guardian.kafka.reporter.host;
