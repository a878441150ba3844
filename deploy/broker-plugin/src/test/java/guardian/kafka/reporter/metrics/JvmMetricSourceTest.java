package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.CollectRequest;
import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import org.junit.jupiter.api.Test;

class JvmMetricSourceTest {
    @Test
    void everyNameIsOneOfJmx() throws Exception {
        MetricBatch batch = new BatchCollector(
                        List.of(new JvmMetricSource()),
                        request -> HostFacts.getDefaultInstance(),
                        MetricBatch::newBuilder,
                        request -> List.of())
                .collect(CollectRequest.getDefaultInstance(), () -> false);
        assertTrue(batch.getIdsCount() > 20, "values: " + batch.getIdsCount());
        for (String name : batch.getNamesList()) {
            int colon = name.lastIndexOf(':');
            String[] attribute = name.substring(colon + 1).split("\\.");
            Object value = ManagementFactory.getPlatformMBeanServer()
                    .getAttribute(new ObjectName(name.substring(0, colon)), attribute[0]);
            Object number = value instanceof CompositeData parts ? parts.get(attribute[1]) : value;
            assertTrue(number instanceof Number, name);
        }
        int started = batch.getNamesList().indexOf("java.lang:type=Runtime:StartTime");
        assertEquals(
                ManagementFactory.getRuntimeMXBean().getStartTime(),
                (long) batch.getValues(batch.getIdsList().indexOf(started)));
    }
}
