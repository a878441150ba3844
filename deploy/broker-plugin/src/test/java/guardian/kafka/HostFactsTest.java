package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.DiskFacts;
import guardian.v1.HostFacts;
import guardian.v1.LogDirFacts;
import guardian.v1.MemoryFacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
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
    void anotherProcTellsTheDisksOfLogDirsApart() throws IOException {
        Path proc = Files.createDirectories(dir.resolve("proc"));
        Path first = Files.createDirectories(dir.resolve("disk1"));
        Path second = Files.createDirectories(dir.resolve("disk2"));
        Files.createDirectories(proc.resolve("self"));
        Files.writeString(
                proc.resolve("diskstats"), "8 0 sda 1 0 2 3 4 0 5 6 7 8 9\n8 16 sdb 1 0 2 3 4 0 5 6 7 8 9\n");
        Files.writeString(
                proc.resolve("self/mountinfo"),
                "30 1 8:0 / " + first.toRealPath() + " rw - xfs a rw\n"
                        + "31 1 8:16 / " + second.toRealPath() + " rw - xfs b rw\n");
        HostFacts facts = new HostFactsReader(proc, List.of(first, second), path -> false).read();
        assertEquals(
                List.of("sda", "sdb"),
                facts.getLogDirsList().stream().map(LogDirFacts::getDisk).toList());
        assertEquals(0, facts.getMemory().getTotalBytes());
    }

    @Test
    void withoutAMountTableTheDiskIsFoundByStDev() throws IOException {
        Device device = Device.ofStDev((long) Files.getAttribute(dir, "unix:dev"));
        DiskStats disks =
                DiskStats.parse(List.of(device.major() + " " + device.minor() + " sdz 1 0 2 3 4 0 5 6 7 8 9"));
        LogDirFacts facts = new LogDirReader(dir, path -> false).read(MountTable.parse(List.of()), disks);
        assertEquals("sdz", facts.getDisk());
    }

    private static LogDirFacts read(Path path, boolean givenUp) {
        return new LogDirReader(path, asked -> givenUp).read(MountTable.parse(List.of()), DiskStats.parse(List.of()));
    }
}
