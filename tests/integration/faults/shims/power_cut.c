/* Preloaded into a member: writes down, in the file FAULT_SYNCED, how long each file was when it was last made durable
 * (inode and size, two native uint64 for each fsync or fdatasync), so that a test can take away the rest. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int notes = -1;

__attribute__((constructor)) static void open_notes(void) {
    const char *path = getenv("FAULT_SYNCED");
    if (path != NULL)
        notes = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int sync_with(const char *name, int fd) {
    struct stat before;
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    /* What is written while it runs may or may not be durable: it does not count. */
    int is_known = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    int result = real(fd);
    if (result == 0 && is_known && notes >= 0) {
        uint64_t note[2] = {before.st_ino, before.st_size};
        if (write(notes, note, sizeof note) != sizeof note)
            abort();
    }
    return result;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
