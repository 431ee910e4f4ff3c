// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM, which end a program of berth's: blocked everywhere and waited for in one place. A process has one
// set of them; any thread may wait, one at a time.
#pragma once

namespace berth::cli {

// Before any thread is started: SIGINT and SIGTERM are then taken by WaitForSignal alone, and a closed connection is an
// error of its write instead of a signal.
void BlockSignals();

// Blocks until SIGINT or SIGTERM; returns its name.
const char* WaitForSignal();

// Makes WaitForSignal() return, now or when it is called next, as if SIGTERM had come. Any thread.
void EndWait();

// True when one of them has come. Does not block.
bool HasSignal();

}  // namespace berth::cli
