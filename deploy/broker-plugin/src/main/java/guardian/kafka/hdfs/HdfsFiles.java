package guardian.kafka.hdfs;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Files in HDFS, by Hadoop's own client and its own configuration; nothing else here knows Hadoop.
 *
 * <p>It logs in and connects with the first call, and again with the next where that failed: a broker starts without its
 * HDFS.
 */
final class HdfsFiles implements RemoteFiles {
    private static final long TICKET_CHECK_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final URI root;
    private final Configuration configuration;
    private final Optional<HdfsSettings.Kerberos> kerberos;
    private FileSystem fileSystem;
    private long ticketCheckedAt;
    private boolean closed;

    HdfsFiles(HdfsSettings settings) {
        this.root = settings.uri();
        this.configuration = configurationOf(settings);
        this.kerberos = settings.kerberos();
    }

    /** Hadoop's configuration: its class path's, then the folder's files, then single settings. */
    static Configuration configurationOf(HdfsSettings settings) {
        Configuration conf = new Configuration();
        // The plugin may be loaded apart from the broker's classes, and Hadoop with it.
        conf.setClassLoader(HdfsFiles.class.getClassLoader());
        settings.configDir().ifPresent(dir -> {
            for (String name : new String[] {"core-site.xml", "hdfs-site.xml"}) {
                if (dir.resolve(name).toFile().exists()) {
                    conf.addResource(new Path(dir.resolve(name).toUri()));
                }
            }
        });
        settings.passedThrough().forEach(conf::set);
        // Hadoop would close it on its own when the JVM ends, under a broker that still copies.
        conf.setBoolean("fs.automatic.close", false);
        if (settings.kerberos().isPresent()) {
            conf.set("hadoop.security.authentication", "kerberos");
        }
        return conf;
    }

    @Override
    public OpenFile open(String path, long position) throws IOException {
        Path target = resolve(path);
        FileStatus status = connected().getFileStatus(target);
        FSDataInputStream stream = connected().open(target);
        try {
            stream.seek(Math.min(position, status.getLen()));
        } catch (IOException | RuntimeException e) {
            stream.close();
            throw e;
        }
        return new OpenFile(stream, status.getLen());
    }

    @Override
    public OutputStream create(String path) throws IOException {
        return connected().create(resolve(path), true);
    }

    @Override
    public void rename(String from, String to) throws IOException {
        if (!connected().rename(resolve(from), resolve(to))) {
            throw new IOException("can't rename " + from + " to " + to + ": the first is gone, or the second exists");
        }
    }

    @Override
    public boolean delete(String path) throws IOException {
        return connected().delete(resolve(path), false);
    }

    @Override
    public boolean deleteEmptyFolder(String path) throws IOException {
        try {
            return connected().delete(resolve(path), false);
        } catch (PathIsNotEmptyDirectoryException e) {
            return false;
        }
    }

    @Override
    public void list(Consumer<FileEntry> visitor) throws IOException {
        Path folder = connected().makeQualified(new Path(root));
        RemoteIterator<LocatedFileStatus> files = connected().listFiles(folder, true);
        int prefix = folder.toUri().getPath().length() + 1;
        while (files.hasNext()) {
            LocatedFileStatus file = files.next();
            String path = file.getPath().toUri().getPath().substring(prefix);
            visitor.accept(new FileEntry(path, file.getLen(), file.getModificationTime()));
        }
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        if (fileSystem != null) {
            fileSystem.close();
        }
    }

    private Path resolve(String path) {
        return new Path(new Path(root), path);
    }

    private synchronized FileSystem connected() throws IOException {
        if (closed) {
            throw new IOException("the storage manager is closed");
        }
        if (fileSystem == null) {
            fileSystem = connect();
            ticketCheckedAt = System.nanoTime();
        } else if (kerberos.isPresent() && System.nanoTime() - ticketCheckedAt > TICKET_CHECK_NANOS) {
            UserGroupInformation.getLoginUser().checkTGTAndReloginFromKeytab();
            ticketCheckedAt = System.nanoTime();
        }
        return fileSystem;
    }

    private FileSystem connect() throws IOException {
        if (kerberos.isPresent()) {
            UserGroupInformation.setConfiguration(configuration);
            UserGroupInformation.loginUserFromKeytab(
                    kerberos.get().principal(), kerberos.get().keytab().toString());
        }
        try {
            // Not a shared one, which somebody else might close.
            return FileSystem.newInstance(root, configuration);
        } catch (IllegalArgumentException e) {
            throw new IOException(HdfsSettings.URI_ROOT + " is '" + root + "', which can't be reached: " + e.getMessage()
                    + "; name a NameNode, or a nameservice of " + HdfsSettings.CONFIG_DIR, e);
        }
    }
}
