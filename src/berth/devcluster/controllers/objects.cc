// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/objects.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "berth/codec/json_reader.h"

namespace berth::controllers {
namespace {

using codec::FindMember;
using codec::StringOrEmpty;
using simdjson::dom::element;
using simdjson::dom::element_type;

// Upstream's alphabet for names: no vowels, no look-alikes.
constexpr std::string_view kNameLetters = "bcdfghjklmnpqrstvwxz2456789";
constexpr int kSuffixLetters = 5;

// The reader bounds the depth.
json::value Convert(element from) {
  switch (from.type()) {
    case element_type::OBJECT: {
      json::object object;
      // Not in the loop's head: value_unsafe() of a temporary refers into it.
      const simdjson::dom::object members = from.get_object().value_unsafe();
      for (const auto& [key, value] : members) object.emplace(View(key), Convert(value));
      return object;
    }
    case element_type::ARRAY: {
      json::array array;
      const simdjson::dom::array items = from.get_array().value_unsafe();
      for (const element value : items) array.push_back(Convert(value));
      return array;
    }
    case element_type::STRING: return json::value(View(from.get_string().value_unsafe()));
    case element_type::INT64: return from.get_int64().value_unsafe();
    case element_type::UINT64: return from.get_uint64().value_unsafe();
    case element_type::DOUBLE: return from.get_double().value_unsafe();
    case element_type::BOOL: return from.get_bool().value_unsafe();
    case element_type::NULL_VALUE: return nullptr;
  }
  return nullptr;
}

json::object ConvertObject(element from, std::string_view key) {
  const auto member = FindMember(from, key);
  return member && member->is_object() ? std::move(Convert(*member).as_object()) : json::object();
}

api::StringMap ReadMap(element from, std::string_view key) {
  std::vector<api::StringMap::Entry> entries;
  if (const auto map = codec::FindObject(from, key)) {
    for (const auto& [name, value] : *map) {
      if (value.is_string()) entries.emplace_back(name, value.get_string().value_unsafe());
    }
  }
  return api::StringMap(std::move(entries));
}

std::int64_t ToInteger(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? number : 0;
}

void ReadMetadata(element object, ObjectView& view) {
  const auto metadata = FindMember(object, "metadata");
  if (!metadata) return;
  view.name = StringOrEmpty(*metadata, "name");
  view.namespace_name = StringOrEmpty(*metadata, "namespace");
  view.uid = StringOrEmpty(*metadata, "uid");
  view.resource_version = StringOrEmpty(*metadata, "resourceVersion");
  view.generation = codec::FindInt(*metadata, "generation").value_or(0);
  view.labels = ReadMap(*metadata, "labels");
  view.creation_time = ParseRfc3339(StringOrEmpty(*metadata, "creationTimestamp"));
  view.is_deleted = !StringOrEmpty(*metadata, "deletionTimestamp").empty();
  if (const auto finalizers = codec::FindArray(*metadata, "finalizers")) {
    for (const element each : *finalizers) {
      if (each.is_string()) view.finalizers.emplace_back(each.get_string().value_unsafe());
    }
  }
  if (const auto owners = codec::FindArray(*metadata, "ownerReferences")) {
    for (const element each : *owners) {
      ObjectOwner owner;
      owner.api_version = StringOrEmpty(each, "apiVersion");
      owner.kind = StringOrEmpty(each, "kind");
      owner.name = StringOrEmpty(each, "name");
      owner.uid = StringOrEmpty(each, "uid");
      owner.is_controller = codec::FindBool(each, "controller");
      owner.blocks_deletion = codec::FindBool(each, "blockOwnerDeletion");
      if (owner.is_controller.value_or(false)) view.controller = owner;
      view.owners.push_back(std::move(owner));
    }
  }
}

Expected<api::LabelSelector> ReadSelector(const json::object& from) {
  api::LabelSelector selector;
  if (const json::object* labels = ObjectOf(from, "matchLabels")) {
    for (const auto& [key, value] : *labels) {
      selector.requirements.push_back({std::string(key),
                                       api::SelectorOperator::kIn,
                                       {value.is_string() ? std::string(value.get_string()) : std::string()}});
    }
  }
  const json::value* expressions = Member(from, "matchExpressions");
  if (expressions != nullptr && expressions->is_array()) {
    for (const json::value& each : expressions->get_array()) {
      if (!each.is_object()) return InvalidError("spec.selector.matchExpressions should hold objects");
      api::Requirement requirement;
      requirement.key = StringOf(each.get_object(), "key");
      requirement.op = api::ParseSelectorOperator(StringOf(each.get_object(), "operator"));
      const json::value* values = Member(each.get_object(), "values");
      if (values != nullptr && values->is_array()) {
        for (const json::value& value : values->get_array()) {
          if (value.is_string()) requirement.values.emplace_back(value.get_string());
        }
      }
      selector.requirements.push_back(std::move(requirement));
    }
  }
  for (const auto& requirement : selector.requirements) BERTH_RETURN_IF_ERROR(requirement.Validate());
  return selector;
}

// Sorted members, so that equal documents have equal texts.
void WriteCanonically(const json::value& value, std::string& text) {
  if (const json::object* object = value.if_object()) {
    std::vector<const json::key_value_pair*> members;
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
    text += '{';
    for (const auto* member : members) {
      text.append(member->key().data(), member->key().size());
      text += ':';
      WriteCanonically(member->value(), text);
      text += ',';
    }
    text += '}';
  } else if (const json::array* array = value.if_array()) {
    text += '[';
    for (const json::value& each : *array) {
      WriteCanonically(each, text);
      text += ',';
    }
    text += ']';
  } else {
    text += json::serialize(value);
  }
}

json::object WithoutMarks(const json::object& pod_template) {
  json::object copy = pod_template;
  json::value* metadata = copy.if_contains("metadata");
  if (metadata != nullptr && metadata->is_object()) {
    json::object& members = metadata->get_object();
    members.erase("creationTimestamp");
    json::value* labels = members.if_contains("labels");
    if (labels != nullptr && labels->is_object()) labels->get_object().erase(kTemplateHashLabel);
  }
  return copy;
}

}  // namespace

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

const json::value* Member(const json::object& object, std::string_view name) { return object.if_contains(View(name)); }

std::string_view StringOf(const json::object& object, std::string_view name) {
  const json::value* member = Member(object, name);
  const json::string* text = member == nullptr ? nullptr : member->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::int64_t IntegerOf(const json::object& object, std::string_view name, std::int64_t otherwise) {
  const json::value* member = Member(object, name);
  const std::int64_t* number = member == nullptr ? nullptr : member->if_int64();
  return number == nullptr ? otherwise : *number;
}

const json::object* ObjectOf(const json::object& object, std::string_view name) {
  const json::value* member = Member(object, name);
  return member == nullptr ? nullptr : member->if_object();
}

json::object ToJsonObject(const element& object) {
  return object.is_object() ? std::move(Convert(object).as_object()) : json::object();
}

json::object ToJson(const api::StringMap& map) {
  json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

const json::object& WorkloadView::Template() const {
  static const json::object empty;
  const json::object* found = ObjectOf(spec, "template");
  return found == nullptr ? empty : *found;
}

std::int64_t WorkloadView::StatusCount(std::string_view field) const { return IntegerOf(status, field, 0); }

bool ObjectView::HasFinalizer(std::string_view finalizer) const {
  return std::find(finalizers.begin(), finalizers.end(), finalizer) != finalizers.end();
}

Expected<std::shared_ptr<const ObjectView>> DecodeObjectView(const element& object) {
  auto view = std::make_shared<ObjectView>();
  ReadMetadata(object, *view);
  return std::shared_ptr<const ObjectView>(std::move(view));
}

Expected<std::shared_ptr<const PodView>> DecodePodView(const element& object) {
  auto pod = std::make_shared<PodView>();
  ReadMetadata(object, *pod);
  if (const auto annotations = codec::FindPath(object, {"metadata", "annotations"})) {
    pod->deletion_cost = ToInteger(StringOrEmpty(*annotations, "controller.kubernetes.io/pod-deletion-cost"));
  }
  if (const auto spec = FindMember(object, "spec")) pod->node_name = StringOrEmpty(*spec, "nodeName");
  if (const auto status = FindMember(object, "status")) {
    pod->phase = StringOrEmpty(*status, "phase");
    if (const auto conditions = codec::FindArray(*status, "conditions")) {
      for (const element condition : *conditions) {
        if (StringOrEmpty(condition, "type") != "Ready") continue;
        pod->is_ready = StringOrEmpty(condition, "status") == "True";
        pod->ready_since = ParseRfc3339(StringOrEmpty(condition, "lastTransitionTime"));
      }
    }
    if (const auto containers = codec::FindArray(*status, "containerStatuses")) {
      for (const element container : *containers) {
        pod->restarts = std::max(pod->restarts, codec::FindInt(container, "restartCount").value_or(0));
      }
    }
  }
  return std::shared_ptr<const PodView>(std::move(pod));
}

Expected<std::shared_ptr<const WorkloadView>> DecodeWorkloadView(const element& object) {
  auto workload = std::make_shared<WorkloadView>();
  ReadMetadata(object, *workload);
  if (const auto metadata = FindMember(object, "metadata")) workload->annotations = ReadMap(*metadata, "annotations");
  workload->spec = ConvertObject(object, "spec");
  workload->status = ConvertObject(object, "status");
  workload->replicas = IntegerOf(workload->spec, "replicas", 1);
  workload->min_ready_seconds = IntegerOf(workload->spec, "minReadySeconds", 0);
  if (const json::object* selector = ObjectOf(workload->spec, "selector")) {
    auto read = ReadSelector(*selector);
    if (!read.ok()) return read.error().Wrap("while reading the selector of " + workload->Key());
    // An empty selector would claim everything in sight.
    if (!read->requirements.empty()) workload->selector = std::move(*read);
  }
  return std::shared_ptr<const WorkloadView>(std::move(workload));
}

bool SameTemplate(const json::object& a, const json::object& b) { return WithoutMarks(a) == WithoutMarks(b); }

std::string TemplateHash(const json::object& pod_template, std::int64_t collisions) {
  std::string text;
  WriteCanonically(WithoutMarks(pod_template), text);
  text += std::to_string(collisions);
  std::uint32_t hash = 0x811c9dc5U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  std::string name = std::to_string(hash);
  for (char& c : name) c = kNameLetters[static_cast<unsigned char>(c) % kNameLetters.size()];
  return name;
}

std::string_view ApiVersionOf(std::string_view kind) {
  if (kind == "ReplicationController") return "v1";
  return kind == "Job" || kind == "CronJob" ? "batch/v1" : kAppsVersion;
}

std::string NameSuffixOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return NameSuffix(hash ^ (hash >> 29));
}

std::string NameSuffix(std::uint64_t random) {
  std::string suffix;
  for (int i = 0; i < kSuffixLetters; ++i) {
    suffix += kNameLetters[random % kNameLetters.size()];
    random /= kNameLetters.size();
  }
  return suffix;
}

json::object OwnerReferenceTo(const ObjectView& owner, std::string_view kind) {
  return {{"apiVersion", View(ApiVersionOf(kind))},
          {"kind", View(kind)},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace berth::controllers
