// SPDX-License-Identifier: Apache-2.0
#include "berth/app/process.h"

#include <random>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "berth/base/uuid.h"

namespace berth::app {

void ShareMemory() {
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, kMebibyte);
  mallopt(M_TRIM_THRESHOLD, 4 * kMebibyte);
  // Setting any of these ends the adaptation that would have raised this one.
  mallopt(M_MMAP_THRESHOLD, kMebibyte);
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // What is refused leaves what was.
}

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

std::string RandomUuid() { return UuidOf(RandomSeed(), RandomSeed()); }

std::uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace berth::app
