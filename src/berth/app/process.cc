// SPDX-License-Identifier: Apache-2.0
#include "berth/app/process.h"

#include <random>

#include <malloc.h>
#include <unistd.h>

namespace berth::app {

void ShareMemory() {
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, kMebibyte);
  mallopt(M_TRIM_THRESHOLD, 4 * kMebibyte);
  // Setting any of these ends the adaptation that would have raised this one.
  mallopt(M_MMAP_THRESHOLD, kMebibyte);
}

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

std::uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace berth::app
