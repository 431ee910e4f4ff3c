#include "berth/app/process.h"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <random>

#include <malloc.h>
#include <unistd.h>

namespace berth::app {
namespace {

sigset_t EndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void BlockSignals() {
  const sigset_t set = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void ShareMemory() {
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, kMebibyte);
  mallopt(M_TRIM_THRESHOLD, 4 * kMebibyte);
  // Setting any of these ends the adaptation that would have raised this one.
  mallopt(M_MMAP_THRESHOLD, kMebibyte);
}

const char* WaitForSignal() {
  const sigset_t set = EndingSignals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

bool HasSignal() {
  const sigset_t set = EndingSignals();
  const timespec none{};
  return sigtimedwait(&set, nullptr, &none) > 0;
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

int FailWith(const Error& error, cli::ExitCode status) {
  std::fprintf(stderr, "berth: %s\n", error.message.c_str());
  return status;
}

}  // namespace berth::app
