package guardian.kafka.reporter.scrape;

import guardian.v1.CpuFacts;
import guardian.v1.DiskFacts;
import guardian.v1.HostFacts;
import guardian.v1.LogDirFacts;
import guardian.v1.MemoryFacts;
import guardian.v1.MetricBatch;
import guardian.v1.NicFacts;
import guardian.v1.PressureFacts;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** Who the broker is, its log dirs, and its host's facts, these by the names that node_exporter gives them. Pure. */
final class HostFamilies {
    private static final double MS = 1e-3;
    private static final double US = 1e-6;
    private static final double BITS = 1.0 / 8;

    /** Where a sample goes. */
    interface Samples {
        void add(Series series, String help, double value);
    }

    private final Samples samples;

    private HostFamilies(Samples samples) {
        this.samples = samples;
    }

    /** All samples of a family follow each other. */
    static void write(MetricBatch batch, Samples samples) {
        HostFamilies families = new HostFamilies(samples);
        families.broker(batch);
        HostFacts host = batch.getHost();
        families.logDirs(host.getLogDirsList());
        if (host.getCpu().getCores() > 0) {
            families.cpu(host.getCpu());
        }
        families.disks(host.getDisksList());
        if (host.getMemory().getTotalBytes() > 0) {
            families.memory(host.getMemory());
        }
        families.nics(host.getNicsList());
        if (host.hasPressure()) {
            families.pressure(host.getPressure());
        }
    }

    private void broker(MetricBatch batch) {
        String id = PrometheusNames.label("broker_id", String.valueOf(batch.getBrokerId()));
        String cluster = PrometheusNames.label("cluster_id", batch.getClusterId());
        samples.add(
                Series.gauge("guardian_broker_info", String.join(
                        ",", cluster, id, PrometheusNames.label("rack", batch.getRack()))),
                "Which broker this is", 1);
    }

    private void logDirs(List<LogDirFacts> dirs) {
        Function<LogDirFacts, String> labels = dir ->
                PrometheusNames.label("log_dir", dir.getPath()) + "," + PrometheusNames.label("device", dir.getDisk());
        List<LogDirFacts> online = dirs.stream().filter(dir -> !dir.getOffline()).toList();
        gauges(dirs, labels, "guardian_log_dir_offline", "1 when the broker has given it up or it can't be read",
                dir -> dir.getOffline() ? 1 : 0);
        gauges(online, labels, "guardian_log_dir_size_bytes", "Of the replicas in it, as Kafka counts them",
                LogDirFacts::getSizeBytes);
        gauges(online, labels, "guardian_log_dir_capacity_bytes", "Of its file system", LogDirFacts::getTotalBytes);
        gauges(online, labels, "guardian_log_dir_usable_bytes", "Left in its file system", LogDirFacts::getUsableBytes);
        gauges(online, labels, "guardian_log_dir_replicas", "Replicas in it", LogDirFacts::getReplicasCount);
    }

    private void cpu(CpuFacts cpu) {
        mode("user", cpu.getUserMs());
        mode("system", cpu.getSystemMs());
        mode("iowait", cpu.getIoWaitMs());
        mode("idle", cpu.getIdleMs());
        mode("steal", cpu.getStealMs());
        samples.add(Series.gauge("guardian_host_cpu_cores", ""), "Cores of the host", cpu.getCores());
    }

    private void mode(String mode, long ms) {
        samples.add(
                Series.counter("node_cpu_seconds", PrometheusNames.label("mode", mode)),
                "Time of all cores together", ms * MS);
    }

    private void disks(List<DiskFacts> disks) {
        Function<DiskFacts, String> labels = disk -> PrometheusNames.label("device", disk.getName());
        counters(disks, labels, "node_disk_read_bytes", "Read from the disk", DiskFacts::getBytesRead);
        counters(disks, labels, "node_disk_written_bytes", "Written to the disk", DiskFacts::getBytesWritten);
        counters(disks, labels, "node_disk_reads_completed", "Reads", DiskFacts::getReadsCompleted);
        counters(disks, labels, "node_disk_writes_completed", "Writes", DiskFacts::getWritesCompleted);
        counters(disks, labels, "node_disk_io_time_seconds", "Time in which it was busy: its rate is the utilisation",
                disk -> disk.getBusyMs() * MS);
        counters(disks, labels, "node_disk_read_time_seconds", "Time that reads took, summed",
                disk -> disk.getReadMs() * MS);
        counters(disks, labels, "node_disk_write_time_seconds", "Time that writes took, summed",
                disk -> disk.getWriteMs() * MS);
        gauges(disks, labels, "node_disk_io_now", "Reads and writes under way", DiskFacts::getInFlight);
    }

    private void memory(MemoryFacts memory) {
        gauge("node_memory_MemTotal_bytes", "MemTotal of /proc/meminfo", memory.getTotalBytes());
        gauge("node_memory_MemAvailable_bytes", "MemAvailable of /proc/meminfo", memory.getAvailableBytes());
        gauge("node_memory_Cached_bytes", "Cached of /proc/meminfo: the page cache", memory.getPageCacheBytes());
        gauge("node_memory_Dirty_bytes", "Dirty of /proc/meminfo", memory.getDirtyBytes());
    }

    private void nics(List<NicFacts> nics) {
        Function<NicFacts, String> labels = nic -> PrometheusNames.label("device", nic.getName());
        counters(nics, labels, "node_network_receive_bytes", "Received", NicFacts::getBytesReceived);
        counters(nics, labels, "node_network_transmit_bytes", "Sent", NicFacts::getBytesSent);
        counters(nics, labels, "node_network_receive_packets", "Received", NicFacts::getPacketsReceived);
        counters(nics, labels, "node_network_transmit_packets", "Sent", NicFacts::getPacketsSent);
        counters(nics, labels, "node_network_receive_errs", "Errors and drops", NicFacts::getReceiveErrors);
        counters(nics, labels, "node_network_transmit_errs", "Errors and drops", NicFacts::getSendErrors);
        gauges(nics.stream().filter(nic -> nic.getBitsPerS() > 0).toList(), labels, "node_network_speed_bytes",
                "Speed of the link, a second", nic -> nic.getBitsPerS() * BITS);
    }

    private void pressure(PressureFacts pressure) {
        waited("node_pressure_cpu_waiting_seconds", "Time in which a task waited for CPU", pressure.getCpuSomeUs());
        waited("node_pressure_io_waiting_seconds", "Time in which a task waited for I/O", pressure.getIoSomeUs());
        waited("node_pressure_io_stalled_seconds", "Time in which all tasks waited for I/O", pressure.getIoFullUs());
        waited("node_pressure_memory_waiting_seconds", "Time in which a task waited for memory",
                pressure.getMemorySomeUs());
        waited("node_pressure_memory_stalled_seconds", "Time in which all tasks waited for memory",
                pressure.getMemoryFullUs());
    }

    private void waited(String family, String help, long us) {
        samples.add(Series.counter(family, ""), help, us * US);
    }

    private void gauge(String family, String help, double value) {
        samples.add(Series.gauge(family, ""), help, value);
    }

    private <T> void gauges(
            List<T> all, Function<T, String> labels, String family, String help, ToDoubleFunction<T> value) {
        all.forEach(each -> samples.add(Series.gauge(family, labels.apply(each)), help, value.applyAsDouble(each)));
    }

    private <T> void counters(
            List<T> all, Function<T, String> labels, String family, String help, ToDoubleFunction<T> value) {
        all.forEach(each -> samples.add(Series.counter(family, labels.apply(each)), help, value.applyAsDouble(each)));
    }
}
