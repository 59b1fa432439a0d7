/*
 * LD_PRELOAD: sets the wall clock of one process. CLOCK_OFFSET names a file with the offset in milliseconds (8 bytes, signed, native
 * byte order). The file is mapped, so a change applies to all threads at once. The monotonic clock is unchanged.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int (*clock_call)(clockid_t, struct timespec *);
static clock_call real_clock;
static volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
  real_clock = (clock_call)dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("CLOCK_OFFSET");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) offset = mapped;
  close(fd);
}

int clock_gettime(clockid_t id, struct timespec *at) {
  if (!real_clock) begin();
  int result = real_clock(id, at);
  if (result != 0 || !offset || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return result;
  int64_t ms = *offset;
  at->tv_sec += ms / 1000;
  at->tv_nsec += (ms % 1000) * 1000000;
  if (at->tv_nsec >= 1000000000) at->tv_sec++, at->tv_nsec -= 1000000000;
  if (at->tv_nsec < 0) at->tv_sec--, at->tv_nsec += 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
