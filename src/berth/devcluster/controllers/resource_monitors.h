// SPDX-License-Identifier: Apache-2.0
// ResourceMonitors: the kinds that a server serves, custom resources included, and a watch of each kind whose objects
// can be deleted. Kinds that come later are found when their definition comes. On the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/object_graph.h"
#include "berth/shell/client/informer.h"

namespace berth::controllers {

class ResourceMonitors {
 public:
  using KindPtr = ObjectGraph::KindPtr;
  struct Handler {
    std::function<void(const KindPtr& kind, const ObjectGraph::ObjectPtr& object)> on_object;
    std::function<void(std::string_view uid)> on_gone;
    std::function<void()> on_change;  // other kinds are served, or all lists are complete
  };

  // `context` owns what uses it and outlives it.
  ResourceMonitors(Context& context, Handler handler);

  // The kinds that somebody else watches: they are found, but not watched here. By GROUP/PLURAL.
  void LeaveOut(const std::string& group_and_plural) { left_out_.insert(group_and_plural); }
  void Start();
  // Any thread.
  void Stop();

  // The kinds are known, and each watch has had its whole list.
  bool IsSynced() const { return is_known_ && unsynced_ == 0; }
  // The resource in the version that its group prefers; null when it is not served.
  KindPtr Find(std::string_view group, std::string_view kind) const;

 private:
  struct Monitor {
    KindPtr kind;
    bool is_synced = false;
    std::unique_ptr<client::Informer<ObjectView>> informer;
  };

  // Asks the server soon which kinds it serves.
  void Refresh();
  void DiscoverAfter(Duration pause);
  void Discover();
  void Use(std::map<std::string, KindPtr> found);
  void Watch(const std::string& key, const KindPtr& kind);
  void OnListed(const std::string& key);

  Context& context_;
  const Handler handler_;
  StringHashSet left_out_;
  bool is_known_ = false;
  bool is_refresh_due_ = false;
  std::size_t unsynced_ = 0;
  StringHashMap<KindPtr> by_kind_;           // by GROUP/KIND
  std::mutex mutex_;                         // guards the map of monitors against Stop() on another thread
  std::map<std::string, Monitor> monitors_;  // by GROUP/PLURAL
};

}  // namespace berth::controllers
