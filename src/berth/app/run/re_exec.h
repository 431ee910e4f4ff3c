// SPDX-License-Identifier: Apache-2.0
// Restarts a scheduler after a failed check or an exception that nothing caught. Its memory can no longer be trusted,
// so the program replaces itself in the same process (execve) and reads all of its state from the API server. The new
// program sets the pod aside that was being decided (base/subject.h). A second failure within a minute ends the
// process.
#pragma once

#include <set>
#include <string>

#include "berth/base/expected.h"

namespace berth::app {

// Installs the handlers. Call it once, before any thread is started. Returns the uids of the pods that were being
// decided at earlier failures: the latest 64 at most.
std::set<std::string, std::less<>> ReExecOnFailure();

// Replaces the program by itself with the same arguments, for what only a start can decide; what is set aside stays so.
// Call it after ReExecOnFailure(). Returns only when that is not possible.
Error ReExec();

}  // namespace berth::app
