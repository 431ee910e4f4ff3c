// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/script/views.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <lua.hpp>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {
namespace {

using framework::Resource;
using script::Sandbox;

// Every function here has these upvalues.
constexpr int kContext = 1;  // ScriptContext*
constexpr int kOfItem = 2;   // whether the view is of a pod in a node's list: an Item

// A pod on the node that the call is about.
struct Item {
  const PodInfo* pod;
  std::uint64_t call;
};

ScriptContext& ContextOf(lua_State* lua) {
  return *static_cast<ScriptContext*>(lua_touserdata(lua, lua_upvalueindex(kContext)));
}

constexpr const char* kStale = "a pod or node is good for the call that it was given to, and no longer";

const PodInfo& PodOf(lua_State* lua) {
  const ScriptContext& context = ContextOf(lua);
  if (lua_toboolean(lua, lua_upvalueindex(kOfItem)) != 0) {
    const auto* item = static_cast<const Item*>(lua_touserdata(lua, 1));
    if (context.node == nullptr || item->call != context.call) Sandbox::RaiseRule(lua, "%s", kStale);
    return *item->pod;
  }
  if (context.pod == nullptr) Sandbox::RaiseRule(lua, "%s", kStale);
  return *context.pod;
}

const NodeInfo& NodeOf(lua_State* lua) {
  const ScriptContext& context = ContextOf(lua);
  if (context.node == nullptr) Sandbox::RaiseRule(lua, "%s", kStale);
  return *context.node;
}

std::string_view KeyOf(lua_State* lua) {
  if (lua_type(lua, 2) != LUA_TSTRING) return {};
  std::size_t size = 0;
  const char* key = lua_tolstring(lua, 2, &size);
  return {key, size};
}

int NoField(lua_State* lua, const char* what, const char* fields) {
  const bool has_text = lua_type(lua, 2) == LUA_TSTRING || lua_type(lua, 2) == LUA_TNUMBER;
  const char* key = has_text ? lua_tostring(lua, 2) : luaL_typename(lua, 2);
  Sandbox::RaiseRule(lua, "%s has no field \"%s\", but %s", what, key, fields);
}

int PushText(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

int PushTextOrNil(lua_State* lua, const std::string* text) {
  if (text == nullptr) {
    lua_pushnil(lua);
  } else {
    lua_pushlstring(lua, text->data(), text->size());
  }
  return 1;
}

void SetText(lua_State* lua, const char* field, std::string_view text) {
  PushText(lua, text);
  lua_setfield(lua, -2, field);
}

std::string_view NameOf(api::TaintEffect effect) {
  switch (effect) {
    case api::TaintEffect::kNone: return "";
    case api::TaintEffect::kNoSchedule: return "NoSchedule";
    case api::TaintEffect::kPreferNoSchedule: return "PreferNoSchedule";
    case api::TaintEffect::kNoExecute: return "NoExecute";
    case api::TaintEffect::kUnknown: break;
  }
  return "Unknown";
}

// A list of tables, made anew: scripts that read one seldom want all of it on every node.
template <typename List, typename Fill>
int PushList(lua_State* lua, const List& list, Fill fill) {
  lua_createtable(lua, static_cast<int>(std::min<std::size_t>(list.size(), 1024)), 0);
  lua_Integer index = 0;
  for (const auto& value : list) {
    lua_newtable(lua);
    fill(value);
    lua_rawseti(lua, -2, ++index);
  }
  return 1;
}

// ---- maps of strings ----

using Entry = std::pair<std::string, std::string>;

template <typename Get>
int MapIndex(lua_State* lua, Get get) {
  return PushTextOrNil(lua, get(lua).Find(KeyOf(lua)));
}

const api::StringMap& NodeLabelsOf(lua_State* lua) { return NodeOf(lua).node().metadata.labels; }
const api::StringMap& NodeAnnotationsOf(lua_State* lua) { return NodeOf(lua).node().metadata.annotations; }
const api::StringMap& PodLabelsOf(lua_State* lua) { return PodOf(lua).labels(); }
const api::StringMap& PodAnnotationsOf(lua_State* lua) { return PodOf(lua).pod_class->annotations; }
const api::StringMap& NodeSelectorOf(lua_State* lua) { return PodOf(lua).spec().node_selector; }

// The column of that label; null where it has none, as there are enough.
ScriptContext::LabelColumn* ColumnOf(ScriptContext& context, std::string_view key) {
  for (ScriptContext::LabelColumn& column : context.label_columns) {
    if (column.key == key) return &column;
  }
  if (context.label_columns.size() == ScriptContext::kLabelColumnsMax) return nullptr;
  return &context.label_columns.emplace_back(std::string(key), std::span<const framework::ValueId>());
}

int NodeLabels(lua_State* lua) {
  ScriptContext& context = ContextOf(lua);
  const std::string_view key = KeyOf(lua);
  ScriptContext::LabelColumn* column = context.nodes == nullptr || key.empty() ? nullptr : ColumnOf(context, key);
  if (column == nullptr) return MapIndex(lua, NodeLabelsOf);
  if (column->values.empty()) column->values = context.nodes->LabelColumn(key);
  const framework::ValueId value = column->values[context.row];
  if (value != 0) return PushText(lua, context.nodes->Value(value));
  lua_pushnil(lua);
  return 1;
}
int NodeAnnotations(lua_State* lua) { return MapIndex(lua, NodeAnnotationsOf); }
int PodLabels(lua_State* lua) { return MapIndex(lua, PodLabelsOf); }
int NodeSelector(lua_State* lua) { return MapIndex(lua, NodeSelectorOf); }

int PodAnnotations(lua_State* lua) {
  const std::string_view key = KeyOf(lua);
  if (!IsDeclaredAnnotation(ContextOf(lua).annotations, key)) {
    Sandbox::RaiseRule(lua,
                       "berth keeps no annotation \"%s\" of pods for this script: declare it at the top level, "
                       "annotations = {\"%s\"}",
                       key.data() == nullptr ? "" : key.data(), key.data() == nullptr ? "" : key.data());
  }
  return MapIndex(lua, PodAnnotationsOf);
}

int Conditions(lua_State* lua) {
  const std::string_view type = KeyOf(lua);
  for (const Entry& condition : NodeOf(lua).node().conditions) {
    if (condition.first == type) return PushText(lua, condition.second);
  }
  lua_pushnil(lua);
  return 1;
}

// pairs() of a map: an iterator over a table of its own, which holds the entries in the order of their keys.
int NextEntry(lua_State* lua) {
  const lua_Integer at = lua_tointeger(lua, lua_upvalueindex(2));
  lua_pushinteger(lua, at + 2);
  lua_replace(lua, lua_upvalueindex(2));
  if (lua_rawgeti(lua, lua_upvalueindex(1), at) == LUA_TNIL) return 1;
  lua_rawgeti(lua, lua_upvalueindex(1), at + 1);
  return 2;
}

template <typename Map, typename IsIn>
int PushEntriesOf(lua_State* lua, const Map& map, IsIn is_in) {
  lua_newtable(lua);
  lua_Integer index = 0;
  for (const Entry& entry : map) {
    if (!is_in(entry.first)) continue;
    PushText(lua, entry.first);
    lua_rawseti(lua, -2, ++index);
    PushText(lua, entry.second);
    lua_rawseti(lua, -2, ++index);
  }
  lua_pushinteger(lua, 1);
  lua_pushcclosure(lua, &NextEntry, 2);
  return 1;
}

template <const api::StringMap& (*kGet)(lua_State*)>
int MapPairs(lua_State* lua) {
  return PushEntriesOf(lua, kGet(lua), [](const std::string&) { return true; });
}

int PodAnnotationsPairs(lua_State* lua) {
  const std::vector<std::string>& declared = ContextOf(lua).annotations;
  return PushEntriesOf(lua, PodAnnotationsOf(lua),
                       [&declared](const std::string& key) { return IsDeclaredAnnotation(declared, key); });
}

int ConditionsPairs(lua_State* lua) {
  return PushEntriesOf(lua, NodeOf(lua).node().conditions, [](const std::string&) { return true; });
}

// ---- amounts ----

constexpr const char* kAmounts =
    "cpu_milli, memory_bytes, ephemeral_storage_bytes, pods (of nodes), and others by name: [\"nvidia.com/gpu\"]";

// Pushes what `amount(resource)` gives for the field of that name; false when there is none.
template <typename Amount>
bool PushAmount(lua_State* lua, std::string_view key, Amount amount) {
  std::int64_t value = 0;
  if (key == "cpu_milli") {
    value = amount([](const Resource& of) { return of.cpu_milli; });
  } else if (key == "memory_bytes") {
    value = amount([](const Resource& of) { return of.memory_bytes; });
  } else if (key == "ephemeral_storage_bytes") {
    value = amount([](const Resource& of) { return of.ephemeral_storage_bytes; });
  } else if (key.find('/') != std::string_view::npos || key.starts_with("hugepages-")) {
    value = amount([key](const Resource& of) { return of.Scalar(key); });
  } else {
    return false;
  }
  lua_pushinteger(lua, value);
  return true;
}

int PushPodCount(lua_State* lua, std::int64_t count) {
  lua_pushinteger(lua, count);
  return 1;
}

std::int64_t PodCountOf(const NodeInfo& node) { return static_cast<std::int64_t>(node.pods().size()); }

using Columns = NodeTable::Columns;

// Pushes an amount that the table has a column of, where the node is a row; false: look at the node.
// `amount(columns, row, resource)` gets which of cpu, memory and pods it is about.
enum class Amount : std::uint8_t { kCpu, kMemory, kPods };
template <typename Get>
bool PushFromColumns(lua_State* lua, Get amount) {
  const ScriptContext& context = ContextOf(lua);
  if (context.nodes == nullptr) return false;
  const std::string_view key = KeyOf(lua);
  const Columns& columns = context.nodes->columns();
  if (key == "cpu_milli") {
    lua_pushinteger(lua, amount(columns, context.row, Amount::kCpu));
  } else if (key == "memory_bytes") {
    lua_pushinteger(lua, amount(columns, context.row, Amount::kMemory));
  } else if (key == "pods") {
    lua_pushinteger(lua, amount(columns, context.row, Amount::kPods));
  } else {
    return false;
  }
  return true;
}

std::int64_t AllocatableAt(const Columns& columns, NodeIndex row, Amount amount) {
  switch (amount) {
    case Amount::kCpu: return columns.allocatable_cpu_milli[row];
    case Amount::kMemory: return columns.allocatable_memory_bytes[row];
    case Amount::kPods: break;
  }
  return columns.allocatable_pods[row];
}
std::int64_t RequestedAt(const Columns& columns, NodeIndex row, Amount amount) {
  switch (amount) {
    case Amount::kCpu: return columns.requested_cpu_milli[row];
    case Amount::kMemory: return columns.requested_memory_bytes[row];
    case Amount::kPods: break;
  }
  return columns.pod_count[row];
}
std::int64_t FreeAt(const Columns& columns, NodeIndex row, Amount amount) {
  return framework::WrappingSub(AllocatableAt(columns, row, amount), RequestedAt(columns, row, amount));
}

int Allocatable(lua_State* lua) {
  if (PushFromColumns(lua, AllocatableAt)) return 1;
  const NodeInfo& node = NodeOf(lua);
  const std::string_view key = KeyOf(lua);
  if (key == "pods") return PushPodCount(lua, node.allocatable().pods);
  if (PushAmount(lua, key, [&node](auto of) { return of(node.allocatable()); })) return 1;
  return NoField(lua, "node.allocatable", kAmounts);
}

int Requested(lua_State* lua) {
  if (PushFromColumns(lua, RequestedAt)) return 1;
  const NodeInfo& node = NodeOf(lua);
  const std::string_view key = KeyOf(lua);
  if (key == "pods") return PushPodCount(lua, PodCountOf(node));
  if (PushAmount(lua, key, [&node](auto of) { return of(node.requested()); })) return 1;
  return NoField(lua, "node.requested", kAmounts);
}

int Free(lua_State* lua) {
  if (PushFromColumns(lua, FreeAt)) return 1;
  const NodeInfo& node = NodeOf(lua);
  const std::string_view key = KeyOf(lua);
  if (key == "pods") return PushPodCount(lua, framework::WrappingSub(node.allocatable().pods, PodCountOf(node)));
  if (PushAmount(lua, key,
                 [&node](auto of) { return framework::WrappingSub(of(node.allocatable()), of(node.requested())); }))
    return 1;
  return NoField(lua, "node.free", kAmounts);
}

int Requests(lua_State* lua) {
  const Resource& requests = PodOf(lua).pod_class->requests;
  if (PushAmount(lua, KeyOf(lua), [&requests](auto of) { return of(requests); })) return 1;
  return NoField(lua, "pod.requests", kAmounts);
}

// ---- node ----

int NodeFields(lua_State* lua) {
  return NoField(lua, "node", "metadata, spec, status, allocatable, requested, free, pods");
}

int NodeMetadata(lua_State* lua) {
  const NodeInfo& node = NodeOf(lua);
  const std::string_view key = KeyOf(lua);
  if (key == "name") return PushText(lua, node.name());
  if (key == "uid") return PushText(lua, node.node().metadata.uid);
  return NoField(lua, "node.metadata", "name, uid, labels, annotations");
}

int NodeSpec(lua_State* lua) {
  const api::Node& node = NodeOf(lua).node();
  const std::string_view key = KeyOf(lua);
  if (key == "unschedulable") {
    lua_pushboolean(lua, node.unschedulable ? 1 : 0);
    return 1;
  }
  if (key != "taints") return NoField(lua, "node.spec", "unschedulable, taints");
  return PushList(lua, node.taints, [lua](const api::Taint& taint) {
    SetText(lua, "key", taint.key);
    SetText(lua, "value", taint.value);
    SetText(lua, "effect", NameOf(taint.effect));
  });
}

int NodeStatus(lua_State* lua) { return NoField(lua, "node.status", "allocatable, conditions"); }

// node.pods[i]: a new view each time, good for this call.
int NodePods(lua_State* lua) {
  const NodeInfo& node = NodeOf(lua);
  if (lua_isinteger(lua, 2) == 0)
    return NoField(lua, "node.pods", "numbers from 1 to #node.pods (for _, other in ipairs(node.pods))");
  const lua_Integer index = lua_tointeger(lua, 2);
  if (index < 1 || index > PodCountOf(node)) {
    lua_pushnil(lua);
    return 1;
  }
  auto* item = static_cast<Item*>(lua_newuserdatauv(lua, sizeof(Item), 0));
  *item = {node.pods()[static_cast<std::size_t>(index) - 1].get(), ContextOf(lua).call};
  luaL_setmetatable(lua, "pod of the node");
  return 1;
}

int NodePodsCount(lua_State* lua) {
  const ScriptContext& context = ContextOf(lua);
  if (context.nodes != nullptr) return PushPodCount(lua, context.nodes->columns().pod_count[context.row]);
  return PushPodCount(lua, PodCountOf(NodeOf(lua)));
}

// ---- pod ----

// A part of a pod of a node's list. Other pods' parts are in the table of fields already.
bool PushPart(lua_State* lua, std::string_view key, std::initializer_list<std::pair<const char*, const char*>> parts) {
  if (lua_toboolean(lua, lua_upvalueindex(kOfItem)) == 0) return false;
  for (const auto& [field, metatable] : parts) {
    if (key != field) continue;
    const Item of = *static_cast<const Item*>(lua_touserdata(lua, 1));
    auto* part = static_cast<Item*>(lua_newuserdatauv(lua, sizeof(Item), 0));
    *part = of;
    luaL_setmetatable(lua, metatable);
    return true;
  }
  return false;
}

int PodFields(lua_State* lua) {
  const PodInfo& pod = PodOf(lua);
  const std::string_view key = KeyOf(lua);
  if (PushPart(lua, key,
               {{"metadata", "metadata of the node's pod"},
                {"spec", "spec of the node's pod"},
                {"requests", "requests of the node's pod"}}))
    return 1;
  if (key != "owner") return NoField(lua, "pod", "metadata, spec, requests, owner");
  const auto& controller = pod.pod_class->controller;
  if (!controller) {
    lua_pushnil(lua);
    return 1;
  }
  lua_newtable(lua);
  SetText(lua, "apiVersion", controller->api_version);
  SetText(lua, "kind", controller->kind);
  SetText(lua, "name", controller->name);
  return 1;
}

// What pods of one class differ in.
void CheckMayDiffer(lua_State* lua, const char* field) {
  // Pods on the node are part of what is known of it.
  if (!ContextOf(lua).is_kept || lua_toboolean(lua, lua_upvalueindex(kOfItem)) != 0) return;
  Sandbox::RaiseRule(lua,
                     "pod.metadata.%s differs between pods whose answers are kept in common: leave out depends_on = "
                     "\"node\" to read it",
                     field);
}

int PodMetadata(lua_State* lua) {
  const PodInfo& pod = PodOf(lua);
  const std::string_view key = KeyOf(lua);
  if (key == "namespace") return PushText(lua, pod.namespace_name());
  if (key == "name") {
    CheckMayDiffer(lua, "name");
    return PushText(lua, pod.name);
  }
  if (key == "uid") {
    CheckMayDiffer(lua, "uid");
    return PushText(lua, pod.uid);
  }
  if (PushPart(lua, key, {{"labels", "labels of the node's pod"}, {"annotations", "annotations of the node's pod"}}))
    return 1;
  return NoField(lua, "pod.metadata", "name, namespace, uid, labels, annotations");
}

int PushContainers(lua_State* lua, const std::vector<api::Container>& containers) {
  return PushList(lua, containers, [lua](const api::Container& container) {
    SetText(lua, "name", container.name);
    SetText(lua, "image", container.image);
  });
}

int PushTolerations(lua_State* lua, const std::vector<api::Toleration>& tolerations) {
  return PushList(lua, tolerations, [lua](const api::Toleration& toleration) {
    SetText(lua, "key", toleration.key);
    SetText(lua, "operator", toleration.op.empty() ? "Equal" : toleration.op);
    SetText(lua, "value", toleration.value);
    SetText(lua, "effect", NameOf(toleration.effect));
  });
}

int PodSpec(lua_State* lua) {
  const api::PodSpec& spec = PodOf(lua).spec();
  const std::string_view key = KeyOf(lua);
  if (key == "priority") {
    lua_pushinteger(lua, PodOf(lua).priority());
    return 1;
  }
  if (key == "schedulerName") return PushText(lua, spec.scheduler_name);
  if (key == "hostNetwork") {
    lua_pushboolean(lua, spec.host_network ? 1 : 0);
    return 1;
  }
  if (key == "preemptionPolicy")
    return PushText(lua, spec.preemption_policy == api::PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority");
  if (key == "containers") return PushContainers(lua, spec.containers);
  if (key == "initContainers") return PushContainers(lua, spec.init_containers);
  if (key == "tolerations") return PushTolerations(lua, spec.tolerations);
  if (PushPart(lua, key, {{"nodeSelector", "nodeSelector of the node's pod"}})) return 1;
  return NoField(lua, "pod.spec",
                 "priority, schedulerName, nodeSelector, hostNetwork, preemptionPolicy, containers, initContainers, "
                 "tolerations");
}

// ---- making them ----

int RefuseWrite(lua_State* lua) { Sandbox::RaiseRule(lua, "pods and nodes are read-only"); }

struct Builder {
  lua_State* lua;
  ScriptContext& context;

  void PushFunction(lua_CFunction function, bool is_of_item) const {
    lua_pushlightuserdata(lua, &context);
    lua_pushboolean(lua, is_of_item ? 1 : 0);
    lua_pushcclosure(lua, function, 2);
  }
  void SetFunction(const char* field, lua_CFunction function, bool is_of_item = false) const {
    PushFunction(function, is_of_item);
    lua_setfield(lua, -2, field);
  }
  // Sets what all views have in the metatable on top of the stack. Lua's own messages call the view by its name.
  void SetCommon(const char* name) const {
    lua_pushstring(lua, name);
    lua_setfield(lua, -2, "__name");
    lua_pushcfunction(lua, &RefuseWrite);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
  }
  // Pushes a view. Its parts are found without a call; `index` answers for all other fields.
  void Push(const char* name, lua_CFunction index, std::initializer_list<std::pair<const char*, int>> parts = {},
            lua_CFunction pairs = nullptr, lua_CFunction length = nullptr) const {
    lua_newuserdatauv(lua, 0, 0);
    lua_newtable(lua);
    SetCommon(name);
    if (parts.size() == 0) {
      SetFunction("__index", index);
    } else {
      lua_newtable(lua);
      for (const auto& [field, at] : parts) {
        lua_pushvalue(lua, at);
        lua_setfield(lua, -2, field);
      }
      lua_newtable(lua);
      SetFunction("__index", index);
      lua_setmetatable(lua, -2);
      lua_setfield(lua, -2, "__index");
    }
    if (pairs != nullptr) SetFunction("__pairs", pairs);
    if (length != nullptr) SetFunction("__len", length);
    lua_setmetatable(lua, -2);
  }
  // The metatable of a pod in a node's list, or of a part of one.
  void MakeItem(const char* name, lua_CFunction index, lua_CFunction pairs = nullptr) const {
    luaL_newmetatable(lua, name);
    SetCommon(name);
    SetFunction("__index", index, true);
    if (pairs != nullptr) SetFunction("__pairs", pairs, true);
    lua_pop(lua, 1);
  }
};

}  // namespace

bool IsDeclaredAnnotation(const std::vector<std::string>& declared, std::string_view key) {
  return std::any_of(declared.begin(), declared.end(),
                     [key](const std::string& own) { return own.ends_with('/') ? key.starts_with(own) : key == own; });
}

ScriptViews MakeScriptViews(Sandbox& sandbox, ScriptContext& context) {
  lua_State* lua = sandbox.lua();
  const Builder make{lua, context};
  make.MakeItem("pod of the node", &PodFields);
  make.MakeItem("metadata of the node's pod", &PodMetadata);
  make.MakeItem("labels of the node's pod", &PodLabels, &MapPairs<PodLabelsOf>);
  make.MakeItem("annotations of the node's pod", &PodAnnotations, &PodAnnotationsPairs);
  make.MakeItem("spec of the node's pod", &PodSpec);
  make.MakeItem("nodeSelector of the node's pod", &NodeSelector, &MapPairs<NodeSelectorOf>);
  make.MakeItem("requests of the node's pod", &Requests);

  const auto pin = [&sandbox] { return sandbox.Pin(); };
  make.Push("pod.metadata.labels", &PodLabels, {}, &MapPairs<PodLabelsOf>);
  const int pod_labels = pin();
  make.Push("pod.metadata.annotations", &PodAnnotations, {}, &PodAnnotationsPairs);
  const int pod_annotations = pin();
  make.Push("pod.metadata", &PodMetadata, {{"labels", pod_labels}, {"annotations", pod_annotations}});
  const int pod_metadata = pin();
  make.Push("pod.spec.nodeSelector", &NodeSelector, {}, &MapPairs<NodeSelectorOf>);
  const int node_selector = pin();
  make.Push("pod.spec", &PodSpec, {{"nodeSelector", node_selector}});
  const int pod_spec = pin();
  make.Push("pod.requests", &Requests);
  const int requests = pin();
  ScriptViews views;
  make.Push("pod", &PodFields, {{"metadata", pod_metadata}, {"spec", pod_spec}, {"requests", requests}});
  views.pod = pin();

  make.Push("node.metadata.labels", &NodeLabels, {}, &MapPairs<NodeLabelsOf>);
  const int node_labels = pin();
  make.Push("node.metadata.annotations", &NodeAnnotations, {}, &MapPairs<NodeAnnotationsOf>);
  const int node_annotations = pin();
  make.Push("node.metadata", &NodeMetadata, {{"labels", node_labels}, {"annotations", node_annotations}});
  const int node_metadata = pin();
  make.Push("node.spec", &NodeSpec);
  const int node_spec = pin();
  make.Push("node.allocatable", &Allocatable);
  const int allocatable = pin();
  make.Push("node.status.conditions", &Conditions, {}, &ConditionsPairs);
  const int conditions = pin();
  make.Push("node.status", &NodeStatus, {{"allocatable", allocatable}, {"conditions", conditions}});
  const int status = pin();
  make.Push("node.requested", &Requested);
  const int requested = pin();
  make.Push("node.free", &Free);
  const int free = pin();
  make.Push("node.pods", &NodePods, {}, nullptr, &NodePodsCount);
  const int pods = pin();
  make.Push("node", &NodeFields,
            {{"metadata", node_metadata},
             {"spec", node_spec},
             {"status", status},
             {"allocatable", allocatable},
             {"requested", requested},
             {"free", free},
             {"pods", pods}});
  views.node = pin();
  return views;
}

}  // namespace berth::plugins
