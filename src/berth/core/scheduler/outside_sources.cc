// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/outside_sources.h"

#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/plugin_errors.h"

namespace berth::scheduler {

using framework::NodeIndex;

OutsideSources::OutsideSources(CoreState& state) : state_(state) {
  for (const auto& [name, profile] : state_.profiles.by_name()) {
    for (const auto& plugin : profile->plugins->owned) {
      auto* reader = dynamic_cast<framework::OutsideDataReader*>(plugin.get());
      if (reader == nullptr) continue;
      std::vector<framework::OutsideSource> sources;
      AskOnce(*plugin, "its sources of data from outside", [&] { sources = reader->OutsideSources(); });
      for (std::size_t i = 0; i < sources.size(); ++i) {
        requests_.push_back({name, std::string(plugin->Name()), std::move(sources[i])});
        readers_.push_back({reader, i});
      }
    }
  }
  unanswered_count_ = requests_.size();
}

framework::OutsideChange OutsideSources::PassToPlugin(const OutsideDone& input) {
  const Reader& reader = readers_[input.source];
  framework::OutsideChange change;
  const framework::Status status =
      runtime::GuardedCall([&] { change = reader.plugin->OnOutsideData(reader.source, input.data, state_.WallNow()); });
  if (!status.IsSuccess()) {
    // The plugin threw, so that its verdict about any node may have changed.
    change.all_nodes = true;
    log::Warning("scheduler", "A plugin fails over data from outside",
                 {{"plugin", requests_[input.source].plugin}, {"error", status.Message()}});
  }
  return change;
}

void OutsideSources::TakeAnswer(OutsideDone&& input) {
  BERTH_CHECK(input.source < readers_.size(), input.source);
  if (!std::exchange(readers_[input.source].has_answer, true)) --unanswered_count_;
  const framework::OutsideChange change = PassToPlugin(input);
  const cache::ColumnNodeTable& nodes = state_.cache.nodes();
  std::vector<NodeIndex> rows;
  if (change.all_nodes) {
    rows.assign(nodes.rows().begin(), nodes.rows().end());
  } else {
    for (const std::string& name : change.node_names) {
      if (const NodeIndex row = nodes.Find(name); row != framework::kNoNode) rows.push_back(row);
    }
  }
  if (rows.empty()) return;
  for (const NodeIndex row : rows) state_.cache.RecordChange(row);
  state_.queue.Move({framework::EventResource::kOutsideData, framework::action::kUpdate},
                    {.outside_plugin = requests_[input.source].plugin}, state_.now);
}

}  // namespace berth::scheduler
