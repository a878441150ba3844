/* A disk that takes its time, as a FUSE file system: slow_disk IMAGE WAIT MOUNTPOINT shows the file IMAGE as MOUNTPOINT/disk.
 * Each write to that waits for the nanoseconds (a native int64) in the file WAIT, which is mapped, so that a test can
 * change them while it runs. It ends when it is unmounted. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000L
#define DISK "/disk"

static int image;
static volatile const int64_t *wait_ns;

static int attributes(const char *path, struct stat *found, struct fuse_file_info *file) {
    (void)file;
    if (strcmp(path, DISK) == 0)
        return fstat(image, found) == 0 ? 0 : -errno;
    if (strcmp(path, "/") != 0)
        return -ENOENT;
    found->st_mode = S_IFDIR | 0700;
    found->st_nlink = 2;
    return 0;
}

static int list(const char *path, void *names, fuse_fill_dir_t add, off_t from, struct fuse_file_info *file, enum fuse_readdir_flags flags) {
    (void)path, (void)from, (void)file, (void)flags;
    return add(names, DISK + 1, NULL, 0, 0) == 0 ? 0 : -ENOMEM;
}

static int read_image(const char *path, char *bytes, size_t length, off_t from, struct fuse_file_info *file) {
    (void)path, (void)file;
    ssize_t done = pread(image, bytes, length, from);
    return done < 0 ? -errno : (int)done;
}

static int write_image(const char *path, const char *bytes, size_t length, off_t from, struct fuse_file_info *file) {
    (void)path, (void)file;
    int64_t ns = *wait_ns;
    struct timespec left = {ns / BILLION, ns % BILLION};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    ssize_t done = pwrite(image, bytes, length, from);
    return done < 0 ? -errno : (int)done;
}

static const struct fuse_operations OPERATIONS = {
    .getattr = attributes,
    .readdir = list,
    .read = read_image,
    .write = write_image,
};

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "use: slow_disk IMAGE WAIT MOUNTPOINT\n");
        return 2;
    }
    int wait = open(arguments[2], O_RDONLY | O_CLOEXEC);
    image = open(arguments[1], O_RDWR | O_CLOEXEC);
    if (image < 0 || wait < 0) {
        perror("slow_disk: IMAGE or WAIT can't be opened");
        return 1;
    }
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, wait, 0);
    if (mapped == MAP_FAILED) {
        perror("slow_disk: WAIT can't be mapped");
        return 1;
    }
    wait_ns = mapped;
    char *options[] = {arguments[0], "-f", "-s", arguments[3]}; /* one write after another, as a disk does */
    return fuse_main(4, options, &OPERATIONS, NULL);
}
