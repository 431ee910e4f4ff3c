// SPDX-License-Identifier: Apache-2.0
// `berth run --record`: what is recorded of a run, and where.
#pragma once

#include <cstdint>
#include <string>

#include "berth/shell/recording/recorder.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {

struct RecordOptions {
  std::string directory;  // empty: nothing is recorded
  std::uint64_t bytes_max = recording::kFilesBytesMax;
};

// Makes a shell that is made of `shell` record itself. With plugins of users' own in use all annotations are kept, as
// these may read any.
void AddRecording(const RecordOptions& record, recording::RecordingHeader header, runner::ShellOptions& shell);

}  // namespace berth::app
