// What a process of ours needs of its system: signals, its host's name, a seed.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/error.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {

// Before any thread is started: SIGINT and SIGTERM are then taken by WaitForSignal alone, and a closed connection is an
// error of its write instead of a signal.
void BlockSignals();

// Before any thread is started: one heap for all of them, which grows and shrinks in large steps. A scheduler's threads
// take turns, so that they do not meet at its lock; heaps of their own would go back and forth by pages.
void ShareMemory();

// Blocks until SIGINT or SIGTERM; returns its name.
const char* WaitForSignal();

// True when one of them has come. Does not block.
bool HasSignal();

std::string HostName();

// From the system's random device, for runs that were not given one.
std::uint64_t RandomSeed();

// One line on standard error: "berth: while ...: what is wrong". Returns `status`, for main to return.
int FailWith(const Error& error, cli::ExitCode status = cli::kExitFailed);

}  // namespace berth::app
