// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD) into a program whose clock of the day is to be set back and forth: CLOCK_REALTIME, as libc tells
// it, is off by the seconds in a file of eight bytes (STEP_CLOCK_FILE), which may change at any time. Clocks that only
// pass are left alone, and so is the kernel: a wait until a time of the day would end by the true clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* offset;
static int (*true_clock)(clockid_t, struct timespec*);

__attribute__((constructor)) static void Begin(void) {
  true_clock = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const char* const path = getenv("STEP_CLOCK_FILE");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* const map = file >= 0 ? mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (map == MAP_FAILED) _exit(125);  // Else the clock would be right, and nothing tried.
  close(file);
  offset = map;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (!true_clock) true_clock = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int status = true_clock(clock, out);
  if (status == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += *offset;
  return status;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int status = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return status;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
