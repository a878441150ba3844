package guardian.kafka.hdfs;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Real remote files, with what is opened written down, and a hook in the middle of a read. */
final class CountingFiles implements RemoteFiles {
    final List<String> opened = new ArrayList<>();
    volatile Runnable onRead = () -> {};

    private final RemoteFiles files;

    CountingFiles(RemoteFiles files) {
        this.files = files;
    }

    synchronized long opened(String ending) {
        return opened.stream().filter(path -> path.endsWith(ending)).count();
    }

    @Override
    public OpenFile open(String path, long position) throws IOException {
        synchronized (this) {
            opened.add(path);
        }
        OpenFile file = files.open(path, position);
        FilterInputStream hooked = new FilterInputStream(file.stream()) {
            @Override
            public int read(byte[] target, int offset, int length) throws IOException {
                onRead.run();
                return super.read(target, offset, length);
            }
        };
        return new OpenFile(hooked, file.length());
    }

    @Override
    public OutputStream create(String path) throws IOException {
        return files.create(path);
    }

    @Override
    public void rename(String from, String to) throws IOException {
        files.rename(from, to);
    }

    @Override
    public boolean delete(String path) throws IOException {
        return files.delete(path);
    }

    @Override
    public boolean deleteEmptyFolder(String path) throws IOException {
        return files.deleteEmptyFolder(path);
    }

    @Override
    public void list(Consumer<FileEntry> visitor) throws IOException {
        files.list(visitor);
    }

    @Override
    public void close() throws IOException {
        files.close();
    }
}
