/** Answers scrapes over HTTP: a batch in Prometheus' text, under Prometheus' names. */
package guardian.kafka.reporter.scrape;
