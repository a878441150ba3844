/* Preloaded into a member: as long as the file named by FAULT_FSYNC_TRIGGER exists, fsync and fdatasync of files under
 * the directory FAULT_FSYNC_UNDER fail with EIO, as those of a broken disk do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_broken(int fd) {
    const char *trigger = getenv("FAULT_FSYNC_TRIGGER");
    const char *under = getenv("FAULT_FSYNC_UNDER");
    char link[64], path[PATH_MAX];
    int saved = errno;
    if (trigger == NULL || under == NULL || access(trigger, F_OK) != 0) {
        errno = saved;
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return 0;
    path[length] = '\0';
    return strncmp(path, under, strlen(under)) == 0;
}

static int sync_with(const char *name, int fd) {
    if (is_broken(fd)) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(fd);
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
