// SPDX-License-Identifier: Apache-2.0
// PodResources: /metrics/resources: what each pod asks for and may take, as upstream's pkg/scheduler/metrics/resources.
// The scheduler itself keeps no limits and no pod that has ended, so pods are watched here, on the server's own loop
// and connection, from the first time that somebody asks until nobody has asked for kIdleMax. Of a pod only the lines
// that it makes are kept. On the loop's thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"

namespace simdjson::dom {
class element;
}

namespace berth::serving {

// A pod's labels and values, as they are written: `namespace="a",...} 0.1`, without the metric's name and the brace
// before.
struct PodResourceLines {
  std::vector<std::string> requests;
  std::vector<std::string> limits;
};

// Of a core/v1 Pod; none for one that has ended. kInvalid for an object without a name, or with amounts that are none.
Expected<std::shared_ptr<const PodResourceLines>> DecodePodResources(const simdjson::dom::element& pod);

class PodResources {
 public:
  using Done = std::function<void(Expected<std::string>)>;

  static constexpr Duration kIdleMax = std::chrono::minutes(10);
  // For the first list of all pods; then whoever waits is told to come again.
  static constexpr Duration kListTimeMax = std::chrono::seconds(30);
  static constexpr std::size_t kWaitingMax = 16;

  // `rest` must outlive it.
  explicit PodResources(client::RestClient& rest) : rest_(rest) {}
  ~PodResources();
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // The text exposition format. An error: the pods have not been listed yet.
  void Ask(Done done);

 private:
  void Begin();
  void CheckIdle();
  void AnswerWaiting();
  Expected<std::string> Text() const;

  client::RestClient& rest_;
  std::unique_ptr<client::Informer<PodResourceLines>> pods_;  // null: nobody asks
  Time asked_at_{};
  std::vector<Done> waiting_;  // for the first list
  std::function<void()> cancel_idle_check_;
  std::function<void()> cancel_patience_;
};

}  // namespace berth::serving
