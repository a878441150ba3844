package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.Gauge;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class LogSizeTest {
    private long nowNs;
    private long reads;

    private final LogSize size = new LogSize(
            new Gauge<Long>() {
                @Override
                public Long value() {
                    return ++reads;
                }
            },
            () -> nowNs);

    @Test
    void whatTheCollectionHasJustReadIsNotReadAgain() {
        double[] values = new double[1];
        assertTrue(size.read(values));
        assertEquals(1.0, values[0]);
        nowNs += Duration.ofMillis(500).toNanos();
        assertEquals(OptionalLong.of(1), size.bytes());
        nowNs += Duration.ofSeconds(1).toNanos();
        assertEquals(OptionalLong.of(2), size.bytes());
    }

    @Test
    void oneThatNobodyHasReadIsRead() {
        assertEquals(OptionalLong.of(1), size.bytes());
    }

    @Test
    void oneThatFailsIsUnknown() {
        Gauge<Long> failing = new Gauge<>() {
            @Override
            public Long value() {
                throw new IllegalStateException("the log is closed");
            }
        };
        assertEquals(OptionalLong.empty(), new LogSize(failing, () -> nowNs).bytes());
    }

    @Test
    void aCollectionAlwaysReads() {
        double[] values = new double[1];
        size.read(values);
        size.read(values);
        assertEquals(2.0, values[0]);
    }
}
