// SPDX-License-Identifier: Apache-2.0
// `berth snapshot`: a cluster's state into a file (whatif/snapshot_file.h). Returns the exit status; a failure is one
// line on standard error. Call it once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <string>
#include <vector>

#include "berth/app/connection.h"

namespace berth::app {

struct SnapshotOptions {
  ConnectionOptions connection;
  std::string output;  // the file; empty: `check` says which file to read
  std::string check;
  std::vector<std::string> annotations;  // that are kept beside those that berth's plugins read
  bool anonymize = false;
  bool force = false;
};

int RunSnapshot(const SnapshotOptions& options);

}  // namespace berth::app
