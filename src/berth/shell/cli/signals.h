// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM, which end a program of berth's, and SIGUSR2, which asks it to tell of itself: blocked everywhere
// and waited for in one place. A process has one set of them; any thread may wait, one at a time.
#pragma once

#include <functional>

#include "berth/base/time.h"

namespace berth::cli {

// Before any thread is started: these signals are then taken by WaitForSignal alone, and a closed connection is an
// error of its write instead of a signal.
void BlockSignals();

// Blocks until SIGINT or SIGTERM; returns its name. Calls `tell` at each SIGUSR2, which does nothing without it.
const char* WaitForSignal(const std::function<void()>& tell = {});

// Makes WaitForSignal() return, now or when it is called next, as if SIGTERM had come. Any thread.
void EndWait();

// True when SIGINT or SIGTERM has come, or comes within `wait`.
bool HasSignal(Duration wait = {});

}  // namespace berth::cli
