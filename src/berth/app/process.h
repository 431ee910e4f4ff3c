// SPDX-License-Identifier: Apache-2.0
// Settings and facts of the operating system: memory, open files, host name, random seeds. Any thread, except for
// ShareMemory().
#pragma once

#include <cstdint>
#include <string>

namespace berth::app {

// Makes all threads share one heap, which grows and shrinks in large steps. Call it before any thread is started. A
// scheduler's threads run by turns and do not contend for the heap's lock; with a heap for each, pages would move back
// and forth between them.
void ShareMemory();

// Allows as many open files as the system permits. The limit of many shells, 1,024, is lower than a server's number of
// connections.
void RaiseFileLimit();

std::string HostName();

// A seed from the system's random device, for runs without --seed.
std::uint64_t RandomSeed();
// A version 4 UUID: "2f6c0a5e-...".
std::string RandomUuid();

}  // namespace berth::app
