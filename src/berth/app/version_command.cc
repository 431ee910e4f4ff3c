// SPDX-License-Identifier: Apache-2.0
#include "berth/app/version_command.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "berth/app/kube_scheduler_options.h"
#include "berth/codec/json.h"
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
  const std::string kubernetes(kKubernetesVersion);
  if (options.output == "json") {
    const codec::json::object version = {{"version", BERTH_VERSION}, {"kubernetesVersion", kubernetes}};
    std::printf("%s\n", codec::WriteJson(version).c_str());
  } else {
    std::printf("berth " BERTH_VERSION " (as kube-scheduler %s)\n", kubernetes.c_str());
  }
  return cli::kExitOk;
}

}  // namespace berth::app
