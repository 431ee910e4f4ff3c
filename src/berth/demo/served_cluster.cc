// SPDX-License-Identifier: Apache-2.0
#include "berth/demo/served_cluster.h"

#include <algorithm>
#include <utility>

namespace berth::demo {

void TakeDefaultSchedulerToo(config::KubeSchedulerConfiguration& configuration) {
  constexpr const char* kDefault = "default-scheduler";
  const bool is_taken = std::any_of(configuration.profiles.begin(), configuration.profiles.end(),
                                    [](const auto& profile) { return profile.scheduler_name == kDefault; });
  if (is_taken) return;
  auto copy = configuration.profiles.front();
  copy.scheduler_name = kDefault;
  configuration.profiles.push_back(std::move(copy));
}

std::vector<std::string> ServedLines(const std::string& address, const std::string& deployment, int replicas,
                                     const std::string& kubeconfig) {
  std::vector<std::string> lines = {
      "", "The cluster is at http://" + address + " until you press Ctrl-C. In another terminal:"};
  if (!kubeconfig.empty()) lines.push_back("  export KUBECONFIG=" + kubeconfig);
  const std::string kubectl = kubeconfig.empty() ? "  kubectl --server http://" + address + ' ' : "  kubectl ";
  lines.push_back(kubectl + "get nodes,pods -o wide");
  lines.push_back(kubectl + "scale deployment " + deployment + " --replicas " + std::to_string(replicas));
  lines.push_back(kubectl + "create deployment web --image nginx");
  return lines;
}

}  // namespace berth::demo
