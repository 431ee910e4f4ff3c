// SPDX-License-Identifier: Apache-2.0
#include "berth/app/version_command.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "berth/app/kubernetes_release.h"
#include "berth/codec/json.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {

CLI::App* AddVersionCommand(CLI::App& app, VersionOptions& options) {
  CLI::App* command = app.add_subcommand("version", "which berth this is, and which Kubernetes it stands in for");
  command->add_option("-o,--output", options.output, "text, or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return command;
}

int RunVersion(const VersionOptions& options) {
  codec::json::array versions;
  std::string listed;
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) {
    const std::string version(KubernetesVersion(minor));
    listed += (listed.empty() ? "" : " or ") + version;
    versions.push_back(codec::json::value(version));
  }
  if (options.output == "json") {
    const codec::json::object version = {
        {"version", BERTH_VERSION}, {"kubernetesVersion", versions.front()}, {"kubernetesVersions", versions}};
    std::printf("%s\n", codec::WriteJson(version).c_str());
  } else {
    std::printf("berth " BERTH_VERSION " (as kube-scheduler %s)\n", listed.c_str());
  }
  return cli::kExitOk;
}

}  // namespace berth::app
