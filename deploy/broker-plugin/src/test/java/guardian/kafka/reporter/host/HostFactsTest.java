package guardian.kafka.reporter.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.DaemonThreads;
import guardian.v1.CpuFacts;
import guardian.v1.DiskFacts;
import guardian.v1.HostFacts;
import guardian.v1.LogDirFacts;
import guardian.v1.MemoryFacts;
import guardian.v1.NicFacts;
import guardian.v1.PressureFacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostFactsTest {
    private static final List<String> DISKSTATS = List.of(
            "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0",
            " 254       0 vda 34443 7147 3342314 11344 10151 30584 9826248 18563 3 6336 30394 6587 36 1427248 477 252 8",
            " 259       1 nvme0n1p1 1 0 2 3 4 0 5 6 7 8 9",
            "garbage",
            "   8       0 sda x 0 2 3 4 0 5 6 7 8 9");

    @TempDir
    Path dir;

    @Test
    void diskstatsAreReadInBytesAndWithoutVirtualDisks() {
        List<DiskFacts> disks = List.copyOf(DiskStats.parse(DISKSTATS).facts());
        assertEquals(List.of("vda", "nvme0n1p1"), disks.stream().map(DiskFacts::getName).toList());
        DiskFacts vda = disks.get(0);
        assertEquals(34443, vda.getReadsCompleted());
        assertEquals(3342314L * 512, vda.getBytesRead());
        assertEquals(11344, vda.getReadMs());
        assertEquals(10151, vda.getWritesCompleted());
        assertEquals(9826248L * 512, vda.getBytesWritten());
        assertEquals(18563, vda.getWriteMs());
        assertEquals(3, vda.getInFlight());
        assertEquals(6336, vda.getBusyMs());
    }

    @Test
    void meminfoIsReadInBytes() {
        MemoryFacts memory = MemoryInfo.parse(List.of(
                "MemTotal:       24684096 kB",
                "MemAvailable:   23015048 kB",
                "Cached:           739892 kB",
                "SwapCached:            1 kB",
                "Dirty:              8864 kB",
                "HugePages_Total:       0"));
        assertEquals(24684096L * 1024, memory.getTotalBytes());
        assertEquals(23015048L * 1024, memory.getAvailableBytes());
        assertEquals(739892L * 1024, memory.getPageCacheBytes());
        assertEquals(8864L * 1024, memory.getDirtyBytes());
    }

    @Test
    void stDevHoldsMajorAndMinor() {
        assertEquals(new Device(254, 0), Device.ofStDev(0xfe00));
        assertEquals(new Device(259, 1), Device.ofStDev(0x10301));
        assertEquals(new Device(8, 300), Device.ofStDev(0x10082c));
    }

    @Test
    void theNearestMountIsTheDevice() {
        MountTable mounts = MountTable.parse(List.of(
                "27 1 254:0 / / rw,relatime - ext4 /dev/root rw",
                "30 27 8:0 / /data/disk1 rw shared:1 - xfs /dev/sda rw",
                "31 27 8:16 / /data/disk\\0402 rw shared:1 - xfs /dev/sdb rw",
                "32 27 8:32 / /data/disk1 rw shared:1 - xfs /dev/sdc rw",
                "garbage"));
        assertEquals(Optional.of(new Device(8, 32)), mounts.deviceOf(Path.of("/data/disk1/kafka")));
        assertEquals(Optional.of(new Device(8, 16)), mounts.deviceOf(Path.of("/data/disk 2")));
        assertEquals(Optional.of(new Device(254, 0)), mounts.deviceOf(Path.of("/data/disk10")));
    }

    @Test
    void aLogDirListsItsReplicasOnly() throws IOException {
        for (String name : List.of(
                "orders-0",
                "my-topic.v2-11",
                "__consumer_offsets-3",
                "orders-1.0a1b2c3d4e5f-delete",
                "orders-2.0a1b2c3d4e5f-future",
                "orders-4.0a1b2c3d4e5f-stray",
                "__cluster_metadata-0",
                "remote-log-index-cache",
                "-5",
                "orders-x")) {
            Files.createDirectory(dir.resolve(name));
        }
        Files.createFile(dir.resolve("meta.properties"));
        Files.createFile(dir.resolve("file-7"));
        LogDirFacts facts = read(dir, false);
        assertEquals(
                new TreeSet<>(List.of("orders-0", "my-topic.v2-11", "__consumer_offsets-3")),
                new TreeSet<>(facts.getReplicasList()));
        assertEquals(dir.toString(), facts.getPath());
        assertTrue(facts.getTotalBytes() >= facts.getUsableBytes() && facts.getTotalBytes() > 0);
        assertFalse(facts.getOffline());
    }

    @Test
    void aLogDirThatIsGoneOrGivenUpIsOffline() {
        assertTrue(read(dir.resolve("missing"), false).getOffline());
        assertTrue(read(dir, true).getOffline());
    }

    @Test
    void aLogDirsSizeIsThatOfItsReplicas() throws IOException {
        Files.createDirectory(dir.resolve("my-topic.v2-11"));
        Files.createDirectory(dir.resolve("orders-0"));
        Files.createDirectory(dir.resolve("orders-1.0a1b2c3d4e5f-future"));
        assertEquals(170, new LogDirReader(dir, new FakeLogs(false, Map.of(
                        "my-topic.v2-11", 100L, "orders-0", 70L, "orders-1", 5L, "elsewhere-0", 9L)))
                .read(MountTable.parse(List.of()), DiskStats.parse(List.of()))
                .getSizeBytes());
    }

    @Test
    void aLogDirThatHangsHoldsNobodyUpAndKeepsWhatWasReadOfItBefore() throws IOException {
        Path healthy = Files.createDirectory(dir.resolve("healthy"));
        Path hanging = Files.createDirectory(dir.resolve("hanging"));
        Files.createDirectory(hanging.resolve("orders-0"));
        CountDownLatch hangs = new CountDownLatch(1);
        AtomicBoolean isHanging = new AtomicBoolean();
        AtomicInteger readings = new AtomicInteger();
        LogDirReader.BrokerLogs stuck = new FakeLogs(false, Map.of("orders-0", 5L)) {
            @Override
            public boolean isOffline(Path logDir) {
                readings.incrementAndGet();
                if (isHanging.get()) {
                    awaitQuietly(hangs);
                }
                return false;
            }
        };
        ExecutorService threads = Executors.newCachedThreadPool(new DaemonThreads("test-log-dir"));
        List<LogDirReader> readers =
                List.of(new LogDirReader(hanging, stuck), new LogDirReader(healthy, new FakeLogs(false, Map.of())));
        MountTable mounts = MountTable.parse(List.of());
        DiskStats disks = DiskStats.parse(List.of());
        LogDirReaders logDirs = new LogDirReaders(readers, threads);
        LogDirFacts before = logDirs.read(mounts, disks, Duration.ofMinutes(1)).get(0);
        assertEquals(5, before.getSizeBytes());

        isHanging.set(true);
        readings.set(0);
        for (int i = 0; i < 5; i++) {
            assertEquals(before, logDirs.read(mounts, disks, Duration.ofMillis(1)).get(0));
        }
        assertTrue(readings.get() <= 1);
        isHanging.set(false);
        hangs.countDown();
        assertEquals(5, logDirs.read(mounts, disks, Duration.ofMinutes(1)).get(0).getSizeBytes());
        threads.shutdown();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void anotherProcTellsTheDisksOfLogDirsApart() throws IOException {
        Path first = Files.createDirectories(dir.resolve("disk1"));
        Path second = Files.createDirectories(dir.resolve("disk2"));
        write("proc/diskstats", "8 0 sda 1 0 2 3 4 0 5 6 7 8 9\n8 16 sdb 1 0 2 3 4 0 5 6 7 8 9\n");
        write("proc/self/mountinfo", "30 1 8:0 / " + first.toRealPath() + " rw - xfs a rw\n"
                + "31 1 8:16 / " + second.toRealPath() + " rw - xfs b rw\n");
        HostFacts facts = host(List.of(first, second));
        assertEquals(
                List.of("sda", "sdb"),
                facts.getLogDirsList().stream().map(LogDirFacts::getDisk).toList());
        assertEquals(0, facts.getMemory().getTotalBytes());
        assertFalse(facts.hasPressure());
    }

    @Test
    void aMountThatIsMadeLaterCounts() throws IOException {
        Path logDir = Files.createDirectories(dir.resolve("disk1"));
        write("proc/diskstats", "8 0 sda 1 0 2 3 4 0 5 6 7 8 9\n8 16 sdb 1 0 2 3 4 0 5 6 7 8 9\n");
        HostFactsReader reader = reader(List.of(logDir));
        write("proc/self/mountinfo", "30 1 8:0 / / rw - xfs a rw\n");
        assertEquals("sda", reader.read().getLogDirs(0).getDisk());
        write("proc/self/mountinfo",
                "30 1 8:0 / / rw - xfs a rw\n31 1 8:16 / " + logDir.toRealPath() + " rw - xfs b rw\n");
        assertEquals("sdb", reader.read().getLogDirs(0).getDisk());
    }

    @Test
    void pressureIsReadInMicroseconds() throws IOException {
        write("proc/pressure/cpu", "some avg10=1.30 avg60=0.00 avg300=0.00 total=18446\n"
                + "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        write("proc/pressure/io", "some avg10=0.40 avg60=0.88 avg300=1.25 total=892213385\n"
                + "full avg10=0.24 avg60=0.15 avg300=0.24 total=151030456\ngarbage total=x\n");
        PressureFacts pressure = host(List.of()).getPressure();
        assertEquals(18446, pressure.getCpuSomeUs());
        assertEquals(892213385, pressure.getIoSomeUs());
        assertEquals(151030456, pressure.getIoFullUs());
        assertEquals(0, pressure.getMemorySomeUs());
    }

    @Test
    void theTimeOfAllCoresIsReadInMilliseconds() throws IOException {
        write("proc/stat", "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\n"
                + "intr 5 6\ncpufreq\ncpu x\n");
        CpuFacts cpu = host(List.of()).getCpu();
        assertEquals(2, cpu.getCores());
        assertEquals(1200, cpu.getUserMs());
        assertEquals(430, cpu.getSystemMs());
        assertEquals(40_000, cpu.getIdleMs());
        assertEquals(500, cpu.getIoWaitMs());
        assertEquals(80, cpu.getStealMs());
    }

    @Test
    void nicsHaveCountersAndTheirSpeedAndLoopbackIsNone() throws IOException {
        write("proc/net/dev", """
                Inter-|   Receive                                                |  Transmit
                 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls
                    lo: 100 10 0 0 0 0 0 0 100 10 0 0 0 0 0 0
                  eth0: 13727738564  626103 1 2 0 0 0 0 18552537 226814 3 4 0 0 0 0
                 bond0:5 1 0 0 0 0 0 0 18446744073709551615 1 0 0 0 0 0 0
                """);
        write("sys/class/net/eth0/speed", "25000\n");
        write("sys/class/net/bond0/speed", "-1\n");
        List<NicFacts> nics = host(List.of()).getNicsList();
        assertEquals(List.of("eth0", "bond0"), nics.stream().map(NicFacts::getName).toList());
        NicFacts eth0 = nics.get(0);
        assertEquals(13727738564L, eth0.getBytesReceived());
        assertEquals(626103, eth0.getPacketsReceived());
        assertEquals(3, eth0.getReceiveErrors());
        assertEquals(18552537, eth0.getBytesSent());
        assertEquals(226814, eth0.getPacketsSent());
        assertEquals(7, eth0.getSendErrors());
        assertEquals(25_000_000_000L, eth0.getBitsPerS());
        assertEquals(0, nics.get(1).getBitsPerS());
        assertEquals("18446744073709551615", Long.toUnsignedString(nics.get(1).getBytesSent()));
    }

    @Test
    void devicesAreToldWithoutALookAtLogDirsWhoseDisksAreKnown() throws IOException {
        Path logDir = Files.createDirectories(dir.resolve("disk1"));
        Files.createDirectory(logDir.resolve("orders-0"));
        write("proc/diskstats", "8 0 sda 1 0 2 3 4 0 5 6 7 8 9\n");
        write("proc/net/dev", "a\nb\n eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
        write("proc/meminfo", "MemTotal: 8 kB\n");
        AtomicInteger looks = new AtomicInteger();
        AtomicReference<String> disk = new AtomicReference<>("");
        HostFactsReader reader = new HostFactsReader(dir.resolve("proc"), (mounts, disks) -> {
            looks.incrementAndGet();
            return List.of(LogDirFacts.newBuilder()
                    .setPath(logDir.toString())
                    .setDisk(disk.get())
                    .setSizeBytes(5)
                    .addReplicas("orders-0")
                    .build());
        });
        assertEquals("", reader.readDevices().getLogDirs(0).getDisk());
        disk.set("sda");
        HostFacts known = reader.readDevices();
        assertEquals(
                List.of(LogDirFacts.newBuilder().setPath(logDir.toString()).setDisk("sda").build()),
                known.getLogDirsList());
        assertEquals(2, looks.get());

        write("proc/diskstats", "8 0 sda 1 0 2 3 4 0 5 6 7 80 9\n");
        HostFacts later = reader.readDevices();
        assertEquals(2, looks.get());
        assertEquals(80, later.getDisks(0).getBusyMs());
        assertEquals("eth0", later.getNics(0).getName());
        assertFalse(later.hasMemory() || later.hasCpu() || later.hasPressure());
    }

    private void write(String file, String text) throws IOException {
        Path path = dir.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private HostFacts host(List<Path> logDirs) {
        return reader(logDirs).read();
    }

    private HostFactsReader reader(List<Path> logDirs) {
        return new HostFactsReader(dir.resolve("proc"), (mounts, disks) -> logDirs.stream()
                        .map(path -> new LogDirReader(path, new FakeLogs(false, Map.of())).read(mounts, disks))
                        .toList());
    }

    @Test
    void withoutAMountTableTheDiskIsFoundByStDev() throws IOException {
        Device device = Device.ofStDev((long) Files.getAttribute(dir, "unix:dev"));
        DiskStats disks =
                DiskStats.parse(List.of(device.major() + " " + device.minor() + " sdz 1 0 2 3 4 0 5 6 7 8 9"));
        LogDirFacts facts =
                new LogDirReader(dir, new FakeLogs(false, Map.of())).read(MountTable.parse(List.of()), disks);
        assertEquals("sdz", facts.getDisk());
    }

    private static LogDirFacts read(Path path, boolean givenUp) {
        return new LogDirReader(path, new FakeLogs(givenUp, Map.of()))
                .read(MountTable.parse(List.of()), DiskStats.parse(List.of()));
    }

    private static class FakeLogs implements LogDirReader.BrokerLogs {
        private final boolean offline;
        private final Map<String, Long> sizes;

        FakeLogs(boolean offline, Map<String, Long> sizes) {
            this.offline = offline;
            this.sizes = sizes;
        }

        @Override
        public boolean isOffline(Path logDir) {
            return offline;
        }

        @Override
        public OptionalLong sizeBytes(String folder) {
            Long size = sizes.get(folder);
            return size == null ? OptionalLong.empty() : OptionalLong.of(size);
        }
    }
}
