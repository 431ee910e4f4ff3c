// SPDX-License-Identifier: Apache-2.0
// What a script sees of a pod and a node: objects that read the C++ ones when a field is asked for. Nothing is built
// for a node; a view reads what the call under way is about, and outside calls it is an error to use one.
// Thread-compatible.
//
// docs/plugins/lua.md lists the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/node_info.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/languages/script/sandbox.h"

namespace berth::plugins {

// What the views read. The plugin sets it for each call.
struct ScriptContext {
  const framework::PodInfo* pod = nullptr;    // null: no call is under way
  const framework::NodeInfo* node = nullptr;  // null: none that is about a node
  // Where the node is a row of a table, that: its columns are faster to read than the node. Else null.
  const framework::NodeTable* nodes = nullptr;
  framework::NodeIndex row = framework::kNoNode;
  std::uint64_t cycle_seed = 0;
  std::uint64_t call = 0;  // counts calls: pods of a node's list are good for one
  // Answers are kept for the pod's class: what differs from pod to pod of a class must not be read.
  bool is_kept = false;
  // Pod annotations that the script declared: keys, and prefixes of keys that end with a slash.
  std::vector<std::string> annotations;

  // Label columns of the table, for the labels that the script reads; the others are looked up in the node. They hold
  // for one evaluation.
  static constexpr std::size_t kLabelColumnsMax = 8;
  struct LabelColumn {
    std::string key;
    std::span<const framework::ValueId> values;  // by row; empty: not asked for in this evaluation
  };
  std::vector<LabelColumn> label_columns;
};

bool IsDeclaredAnnotation(const std::vector<std::string>& declared, std::string_view key);

struct ScriptViews {
  int pod = 0;  // stack indexes of the sandbox's state
  int node = 0;
};

// Makes the views in a new sandbox and pins them there. `context` must outlive the sandbox.
ScriptViews MakeScriptViews(script::Sandbox& sandbox, ScriptContext& context);

}  // namespace berth::plugins
