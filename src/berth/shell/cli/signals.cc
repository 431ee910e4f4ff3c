// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/signals.h"

#include <csignal>
#include <ctime>

#include <unistd.h>

namespace berth::cli {
namespace {

sigset_t EndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

sigset_t AllSignals() {
  sigset_t set = EndingSignals();
  sigaddset(&set, SIGUSR2);
  return set;
}

}  // namespace

void BlockSignals() {
  const sigset_t set = AllSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);  // as a program in Go, which nobody has told what to do with it
}

const char* WaitForSignal(const std::function<void()>& tell) {
  const sigset_t set = AllSignals();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal != SIGUSR2) return signal == SIGINT ? "SIGINT" : "SIGTERM";
    if (tell) tell();
  }
}

void EndWait() {
  // To the process, where whoever waits for it takes it. It cannot fail.
  kill(getpid(), SIGTERM);
}

bool HasSignal(Duration wait) {
  const sigset_t set = EndingSignals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(wait - seconds);
  const timespec limit{seconds.count(), rest.count()};
  return sigtimedwait(&set, nullptr, &limit) > 0;
}

}  // namespace berth::cli
