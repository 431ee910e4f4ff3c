// SPDX-License-Identifier: Apache-2.0
// What a process of ours needs of its system: its memory, its host's name, a seed. Any thread, but for ShareMemory().
#pragma once

#include <cstdint>
#include <string>

namespace berth::app {

// Before any thread is started: one heap for all of them, which grows and shrinks in large steps. A scheduler's threads
// take turns, so that they do not meet at its lock; heaps of their own would go back and forth by pages.
void ShareMemory();

// As many open files as the system allows: 1,024, which many shells give, are fewer than a server's connections may be.
void RaiseFileLimit();

std::string HostName();

// From the system's random device, for runs that were not given one.
std::uint64_t RandomSeed();
// A version 4 UUID: "2f6c0a5e-...".
std::string RandomUuid();

}  // namespace berth::app
