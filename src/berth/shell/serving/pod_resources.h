// SPDX-License-Identifier: Apache-2.0
// PodResources: /metrics/resources, the requests and limits of each pod, as upstream's pkg/scheduler/metrics/resources.
// The scheduler itself keeps neither limits nor pods that have ended. Pods are therefore watched here, on the server's
// own loop and connection, from the first request on until there was none for kIdleMax. Of a pod only its lines of the
// response are kept. On the loop's thread only.
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

// A pod's lines of the response, without the metric's name and the opening brace: `namespace="a",...} 0.1`.
struct PodResourceLines {
  std::vector<std::string> requests;
  std::vector<std::string> limits;
};

// The lines of a core/v1 Pod. Requests and limits are empty for a pod that has ended. kInvalid for an object without a
// name, or with an amount that is not a quantity.
Expected<std::shared_ptr<const PodResourceLines>> DecodePodResources(const simdjson::dom::element& pod);

class PodResources {
 public:
  using Done = std::function<void(Expected<std::string>)>;

  static constexpr Duration kIdleMax = std::chrono::minutes(10);
  // How long a request waits for the first list of all pods. After that it fails.
  static constexpr Duration kListTimeMax = std::chrono::seconds(30);
  static constexpr std::size_t kWaitingMax = 16;

  // `rest` must outlive it.
  explicit PodResources(client::RestClient& rest) : rest_(rest) {}
  ~PodResources();
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // Gives the text exposition format, or an error if the pods have not been listed in time.
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
