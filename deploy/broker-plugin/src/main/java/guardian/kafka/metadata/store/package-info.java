/** Calls Guardian's members: appends and claims where the leader is, follows what is stored, and tries again. */
package guardian.kafka.metadata.store;
