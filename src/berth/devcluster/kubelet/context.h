// SPDX-License-Identifier: Apache-2.0
// Context: what the parts of a KubeletSimulator share: the API server, the options, and the count of failures. It lives
// until the last request has ended. On the loop's thread, apart from what is atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/client/work_queue.h"

namespace berth::kubelet {

// Always in a shared_ptr.
class Context : public std::enable_shared_from_this<Context> {
 public:
  using Answer = std::function<void(Expected<net::Response>)>;

  Context(client::RestClient& r, KubeletOptions o) : rest(r), loop(r.loop()), options(std::move(o)) {}

  client::RestClient& rest;
  client::EventLoop& loop;
  const KubeletOptions options;
  std::atomic<bool> is_stopped{false};
  std::atomic<std::uint64_t> failures{0};

  // Wraps a call that comes later. It is dropped once the simulator has stopped.
  template <typename F>
  auto WhenAlive(F work) {
    return [weak = weak_from_this(), work = std::move(work)](auto&&... args) {
      const auto self = weak.lock();
      if (self && !self->is_stopped) work(std::forward<decltype(args)>(args)...);
    };
  }

  // One try. The work queues try again themselves, and look at the newest state before they do.
  void Send(std::string method, std::string path, std::string body, std::string content_type, Answer answer);
  // `number` tells the queues of one simulator apart.
  std::shared_ptr<client::WorkQueue> MakeQueue(std::uint64_t number, client::WorkQueue::Handler handler);
  // Counts a failure. The log gets one in five seconds at most.
  void CountFailure(const std::string& doing, const Error& error);

 private:
  std::optional<Time> failure_logged_at_;
};

inline constexpr std::string_view kCorePrefix = "/api/v1";
inline constexpr const char* kMergePatch = "application/merge-patch+json";

}  // namespace berth::kubelet
