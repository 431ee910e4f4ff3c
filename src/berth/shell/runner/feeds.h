// SPDX-License-Identifier: Apache-2.0
// Feeds: turns what informers and other servers bring into inputs of the core. There are informers of nodes, of pods
// and of the kinds that plugins read; other servers are asked at intervals. Inputs are pushed on the event loop's
// thread, or by a worker that has parsed a large answer. Feeds keep no objects; extenders that want whole objects get
// them from here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/scheduler/io.h"
#include "berth/framework/object_kinds.h"
#include "berth/framework/release.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/runner/debug_dump.h"
#include "berth/shell/runner/object_listener.h"

namespace berth::outside {
class HttpExtenders;
class OutsidePoller;
}  // namespace berth::outside

namespace berth::runner {

// The state of one informer.
struct FeedSource {
  std::string name;  // "pods"
  bool has_synced = false;
  client::ReflectorStats stats;
};

class Feeds final {
 public:
  // Pods of the first lists wait until everything else has been listed, while they are no more than this.
  static constexpr std::size_t kHeldPodsMax = 200'000;

  struct Options {
    std::uint64_t seed = 0;
    std::vector<framework::ObjectKind> kinds;  // the kinds that are read beside nodes and pods
    int release_minor = framework::kDefaultRelease;
  };
  struct Callbacks {
    // Gets the inputs, on the loop's thread. It may block.
    std::function<void(scheduler::Input)> push;
    // Called once on the loop's thread, when everything has been listed.
    std::function<void()> on_synced;
  };

  // `rest`, `extenders` and what the callbacks rest on must outlive it.
  Feeds(client::RestClient& rest, outside::HttpExtenders& extenders, std::unique_ptr<outside::OutsidePoller> poller,
        const Options& options, Callbacks callbacks);
  ~Feeds();
  Feeds(const Feeds&) = delete;
  Feeds& operator=(const Feeds&) = delete;

  // Call both on one thread that is not the loop's. After Stop() no new push begins.
  void Start();
  void Stop();

  // After Start(): reads every kind anew, and calls `on_fresh` once, on the loop's thread, when all that had changed by
  // the time of this call has been pushed. Any thread.
  void Refresh(std::function<void()> on_fresh);

  // Who gets all changes of nodes and pods from now on, in the place of who got them before; nullopt: nobody. The one
  // before is not called any more when it returns. Any thread but those of the listener's calls.
  void SetListener(std::optional<ObjectListener> listener);

  // Every object has been listed once. Any thread.
  bool HasSynced() const { return unsynced_ == 0; }
  // Any thread.
  std::vector<FeedSource> Sources() const;
  // The names of all nodes and pods that the informers know. Any thread but those of turns.
  KnownNames Names() const;

 private:
  void MakeNodeInformer(const Options& options);
  void MakePodInformer(const Options& options);
  void MakeObjectInformer(const Options& options, framework::ObjectKind kind);
  // Calls `call` with the listener, if there is one.
  template <typename Call>
  void Tell(const Call& call);
  void PushPod(scheduler::Input input);
  void ReleasePods();
  void Listed();
  void OtherListed();

  client::RestClient& rest_;
  outside::HttpExtenders& extenders_;
  const Callbacks callbacks_;
  std::atomic<bool> has_listener_{false};  // without one a change costs no lock
  std::mutex listener_mutex_;
  std::optional<ObjectListener> listener_;  // guarded by listener_mutex_
  std::atomic<std::size_t> unsynced_;       // informers that have not listed yet
  std::size_t stale_ = 0;                   // informers that have not read anew; on the loop's thread
  // On the loop's thread: kinds other than pods that have not been listed; whether pods wait for them, and the inputs
  // that wait, in order.
  std::size_t others_unlisted_;
  bool do_pods_wait_ = true;
  std::vector<scheduler::Input> held_pods_;
  const std::unique_ptr<outside::OutsidePoller> poller_;
  std::unique_ptr<client::Informer<api::Node>> nodes_;
  std::unique_ptr<client::Informer<api::Pod>> pods_;
  std::vector<std::unique_ptr<client::Informer<framework::AnyObject>>> objects_;
  std::vector<std::string> object_names_;  // of objects_
};

}  // namespace berth::runner
