/* Preloaded into a member: its wall clock is off by the nanoseconds (a native int64) in the file FAULT_CLOCK_OFFSET,
 * which is mapped, so that a test can make the clock jump while the member runs. Monotonic clocks stay.
 *
 * Waits until a moment of the wall clock are moved back, since the kernel counts with the true one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000L
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static volatile int64_t *offset_of_clock;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("FAULT_CLOCK_OFFSET");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        offset_of_clock = mapped;
    close(fd);
}

static int64_t offset_ns(void) { return offset_of_clock == NULL ? 0 : *offset_of_clock; }

static struct timespec moved(struct timespec at, int64_t by_ns) {
    int64_t ns = at.tv_nsec + by_ns % BILLION;
    at.tv_sec += by_ns / BILLION + (ns >= BILLION) - (ns < 0);
    at.tv_nsec = ns + (ns < 0 ? BILLION : 0) - (ns >= BILLION ? BILLION : 0);
    return at;
}

static int true_clock(clockid_t id, struct timespec *at) {
    return (int)syscall(SYS_clock_gettime, id, at);
}

/* A wait's clock is not always said: a moment that is nearer to the wall clock than to the monotonic one is meant by it. */
static struct timespec true_deadline(const struct timespec *at) {
    struct timespec monotonic;
    true_clock(CLOCK_MONOTONIC, &monotonic);
    return at->tv_sec > monotonic.tv_sec + 10L * 365 * 86400 ? moved(*at, -offset_ns()) : *at;
}

int clock_gettime(clockid_t id, struct timespec *at) {
    int result = REAL(int (*)(clockid_t, struct timespec *), "clock_gettime")(id, at);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        *at = moved(*at, offset_ns());
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL)
        *at = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, const struct timespec *restrict at) {
    struct timespec deadline = true_deadline(at);
    return REAL(int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *), "pthread_cond_timedwait")(cond, mutex, &deadline);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t id, const struct timespec *at) {
    struct timespec deadline = true_deadline(at);
    return REAL(int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *), "pthread_cond_clockwait")(cond, mutex, id, &deadline);
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict at) {
    struct timespec deadline = true_deadline(at);
    return REAL(int (*)(sem_t *, const struct timespec *), "sem_timedwait")(sem, &deadline);
}

int sem_clockwait(sem_t *restrict sem, clockid_t id, const struct timespec *restrict at) {
    struct timespec deadline = true_deadline(at);
    return REAL(int (*)(sem_t *, clockid_t, const struct timespec *), "sem_clockwait")(sem, id, &deadline);
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    struct timespec deadline;
    /* A relative time-out is small: true_deadline leaves it as it is. */
    int is_wait = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    if (number == SYS_futex && is_wait && a[3] != 0) {
        deadline = true_deadline((const struct timespec *)a[3]);
        a[3] = (long)&deadline;
    }
    return REAL(long (*)(long, ...), "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
