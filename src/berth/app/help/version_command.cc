// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/version_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "berth/app/commands.h"
#include "berth/app/kubernetes_release.h"
#include "berth/base/version.h"
#include "berth/codec/json.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {
namespace {

int RunVersion(const std::string& output) {
  codec::json::array versions;
  std::string listed;
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) {
    const std::string version(KubernetesVersion(minor));
    listed += (listed.empty() ? "" : minor < framework::kNewestRelease ? ", " : " or ") + version;
    versions.push_back(codec::json::value(version));
  }
  if (output == "json") {
    const codec::json::object version = {{"version", Version()},
                                         {"kubernetesVersion", KubernetesVersion(framework::kDefaultRelease)},
                                         {"kubernetesVersions", versions}};
    std::printf("%s\n", codec::WriteJson(version).c_str());
  } else {
    std::printf("berth %s (as kube-scheduler %s)\n", std::string(Version()).c_str(), listed.c_str());
  }
  return cli::kExitOk;
}

}  // namespace

void AddVersionCommand(Commands& commands) {
  const auto output = std::make_shared<std::string>("text");
  commands
      .Add("version", "which berth this is, and which Kubernetes it stands in for",
           {[output](config::KnownPlugins) { return RunVersion(*output); }})
      .Option("output", *output, "text, or json")
      .Letter('o')
      .OneOf({"text", "json"})
      .ShowDefault();
}

}  // namespace berth::app
