// SPDX-License-Identifier: Apache-2.0
// `berth version`: which berth this is, and which Kubernetes it stands in for.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::app {

struct VersionOptions {
  std::string output = "text";  // or "json"
};

// Parsing fills `options`, which must outlive it.
CLI::App* AddVersionCommand(CLI::App& app, VersionOptions& options);
int RunVersion(const VersionOptions& options);

}  // namespace berth::app
