// SPDX-License-Identifier: Apache-2.0
// What a failed check, or an exception that nobody caught, does to a scheduler that serves a cluster: what is in memory
// cannot be trusted any more, so the program begins anew in the same process (execve), and reads all of its state from
// the API server, as after a restart. The pod that was being worked on (base/subject.h) is set aside by the new
// program. A second failure within a minute ends the process.
#pragma once

#include <set>
#include <string>

namespace berth::app {

// From now on. Once, before any thread is started. Returns what earlier failures were laid to, at most 64 of them, the
// latest.
std::set<std::string, std::less<>> BeginAnewOnFailure();

}  // namespace berth::app
