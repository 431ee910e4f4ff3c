// SPDX-License-Identifier: Apache-2.0
// What the demos share: Deployments that wait for a scheduler, and their pods as a demo shows them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"

namespace berth::demo {

// A Deployment in the namespace default, whose pods have the label app=NAME.
struct DemoWorkload {
  std::string name;
  int replicas = 1;
  std::string cpu = "100m";                                        // that each pod asks for
  std::vector<std::pair<std::string, std::string>> annotations{};  // of its pods
  std::vector<std::pair<std::string, std::string>> labels{};       // of its pods, beside app
  std::vector<std::pair<std::string, std::string>> resources{};    // that each pod asks for, beside CPU and memory
  int gang = 0;  // its pods' PodGroup, of its name, has this minCount; 0: they have none
};

Expected<void> CreateWorkload(client::RestClient& rest, const DemoWorkload& workload,
                              const std::string& scheduler_name);

struct ShownPod {
  std::string name;
  std::string app;  // the workload's name
  std::string phase;
  std::string node;  // empty: none yet
  std::string uid;
};

// Tells of the pods of the namespace default, on the loop's thread.
std::unique_ptr<client::Informer<ShownPod>> WatchPods(client::RestClient& rest,
                                                      std::function<void(const ShownPod&)> set,
                                                      std::function<void(const std::string& name)> remove);

cli::Table::Style StyleOf(const cli::Terminal& terminal);

}  // namespace berth::demo
