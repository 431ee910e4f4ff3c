// Data from outside: who wants what, and what an answer changes.
#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/binding.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::NodeIndex;

void Scheduler::FindOutsideSources() {
  for (const auto& [name, profile] : profiles_) {
    for (const auto& plugin : profile->plugins->owned) {
      auto* reader = dynamic_cast<framework::OutsideDataReader*>(plugin.get());
      if (reader == nullptr) continue;
      std::vector<framework::OutsideSource> sources;
      AskOnce(*plugin, "its sources of data from outside", [&] { sources = reader->OutsideSources(); });
      for (std::size_t i = 0; i < sources.size(); ++i) {
        outside_sources_.push_back(OutsideRequest{name, std::string(plugin->Name()), std::move(sources[i])});
        outside_readers_.emplace_back(reader, i);
      }
    }
  }
  outside_heard_.resize(outside_sources_.size());
  outside_unheard_ = outside_sources_.size();
}

void Scheduler::On(OutsideDone&& input) {
  BERTH_CHECK(input.source < outside_readers_.size(), input.source);
  if (!outside_heard_[input.source]) {
    outside_heard_[input.source] = true;
    --outside_unheard_;
  }
  const auto& source = outside_readers_[input.source];
  framework::OutsideChange change;
  const framework::Status told =
      runtime::GuardedCall([&] { change = source.first->OnOutsideData(source.second, input.data, now_); });
  if (!told.IsSuccess()) {
    // What it threw over may have changed its mind about any node.
    change.all_nodes = true;
    log::Warning("scheduler", "A plugin fails over data from outside",
                 {{"plugin", outside_sources_[input.source].plugin}, {"error", told.Message()}});
  }
  std::vector<NodeIndex> rows;
  if (change.all_nodes) {
    rows.assign(cache_.nodes().rows().begin(), cache_.nodes().rows().end());
  } else {
    for (const std::string& name : change.node_names) {
      if (const NodeIndex row = cache_.nodes().Find(name); row != framework::kNoNode) rows.push_back(row);
    }
  }
  if (rows.empty()) return;
  for (const NodeIndex row : rows) cache_.NoteChange(row);
  queue_->Move({framework::EventResource::kOutsideData, framework::action::kUpdate},
               {.outside_plugin = outside_sources_[input.source].plugin}, now_);
}

}  // namespace berth::scheduler
