package guardian.test;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes 0, 1, 2, ... into partition 0 of topics by Kafka's own client, until a line comes by stdin, and prints a line
 * of each acknowledgement: topic, number, System.nanoTime() (which is CLOCK_MONOTONIC).
 *
 * <p>Arguments: bootstrap, records a second, delivery.timeout.ms, then TOPIC:ACKS:KIND, where KIND is plain, idempotent
 * or transactional. A transaction has ten records, all of which are acknowledged by its commit.
 */
public final class NumberedWriters {
    private static final int RECORD_BYTES = 100;
    private static final int OF_A_TRANSACTION = 10;
    private static final PrintStream ACKNOWLEDGEMENTS = System.out;
    private static volatile boolean over = false;

    private final String topic;
    private final Properties settings;
    private final long pauseNanos;
    private int next = 0;

    private NumberedWriters(String topic, Properties settings, long pauseNanos) {
        this.topic = topic;
        this.settings = settings;
        this.pauseNanos = pauseNanos;
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // what a client logs is no acknowledgement
        long pauseNanos = 1_000_000_000L / Long.parseLong(args[1]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 3; i < args.length; i++) {
            String[] of = args[i].split(":");
            Properties settings = new Properties();
            settings.put("bootstrap.servers", args[0]);
            settings.put("delivery.timeout.ms", args[2]);
            settings.put("acks", of[1]);
            settings.put("linger.ms", "5");
            settings.put("enable.idempotence", Boolean.toString(!of[2].equals("plain")));
            settings.put("key.serializer", ByteArraySerializer.class.getName());
            settings.put("value.serializer", ByteArraySerializer.class.getName());
            NumberedWriters writer = new NumberedWriters(of[0], settings, pauseNanos);
            boolean transactional = of[2].equals("transactional");
            if (transactional) {
                settings.put("transactional.id", of[0]);
            }
            threads.add(new Thread(transactional ? writer::writeTransactions : writer::write));
        }
        threads.forEach(Thread::start);
        System.in.read();
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void write() {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            while (!over) {
                int number = next++;
                producer.send(numbered(number), (metadata, error) -> {
                    if (error == null) {
                        acknowledged(number);
                    }
                });
                pause(pauseNanos);
            }
        }
    }

    private void writeTransactions() {
        while (!over) {
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
                producer.initTransactions();
                while (!over) {
                    writeTransaction(producer);
                }
            } catch (KafkaException error) {
                System.err.println(topic + ": " + error); // a new producer goes on
            }
        }
    }

    private void writeTransaction(KafkaProducer<byte[], byte[]> producer) {
        int first = next;
        producer.beginTransaction();
        for (int i = 0; i < OF_A_TRANSACTION; i++) {
            producer.send(numbered(next++));
            pause(pauseNanos);
        }
        producer.commitTransaction();
        for (int number = first; number < next; number++) {
            acknowledged(number);
        }
    }

    private ProducerRecord<byte[], byte[]> numbered(int number) {
        byte[] value = new byte[RECORD_BYTES];
        for (int i = 0; i < Integer.BYTES; i++) {
            value[RECORD_BYTES - 1 - i] = (byte) (number >>> (8 * i));
        }
        return new ProducerRecord<>(topic, 0, null, value);
    }

    private void acknowledged(int number) {
        String line = topic + " " + number + " " + System.nanoTime();
        synchronized (ACKNOWLEDGEMENTS) {
            ACKNOWLEDGEMENTS.println(line);
        }
    }

    private static void pause(long nanos) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
