// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/extender_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/base/hash_map.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/net/url.h"

namespace berth::outside {
namespace {

using scheduler::ExtenderAnswer;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::size_t kDepthMax = 64;

// Writes the characters as escapes that Go's encoder escapes in strings. They occur in strings only.
std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 64);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else if (c == '\xe2' && (text.substr(i, 3) == "\xe2\x80\xa8" || text.substr(i, 3) == "\xe2\x80\xa9")) {
      out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

// The JSON text of an object. `edit(key, value)` returns the text of a member, or an empty one to leave it out.
template <typename Edit>
std::string Rewritten(const object& from, Edit edit) {
  std::string out = "{";
  for (const auto& member : from) {
    const std::optional<std::string> value = edit(member.key, member.value);
    if (!value) continue;
    if (out.size() > 1) out += ',';
    out.append(codec::WriteJson(codec::json::value(member.key))).append(":").append(*value);
  }
  return out + '}';
}

std::string Cut(std::string_view text) {
  if (text.size() <= kReasonBytesMax) return std::string(text);
  std::size_t end = kReasonBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

Error WrongType(std::string_view field, std::string_view wanted) {
  return InvalidError("the answer's " + std::string(field) + " must be " + std::string(wanted));
}

// The last member of that name, without regard to case. A null member counts as absent.
std::optional<element> Member(const object& from, std::string_view name) {
  std::optional<element> found;
  for (const auto& member : from) {
    if (!net::EqualsIgnoreCase(member.key, name)) continue;
    found = member.value;
  }
  return found && !found->is_null() ? found : std::nullopt;
}

// The name of each item of a NodeList.
Expected<std::vector<std::string>> ReadNodeList(const element& value) {
  std::vector<std::string> names;
  object list;
  if (value.get(list) != simdjson::SUCCESS) return WrongType("Nodes", "an object");
  const std::optional<element> items = Member(list, "items");
  if (!items) return names;
  array nodes;
  if (items->get(nodes) != simdjson::SUCCESS) return WrongType("Nodes.items", "a list");
  for (const element item : nodes) {
    object node;
    object metadata;
    std::string_view name;
    if (item.is_null()) {
      names.emplace_back();
      continue;
    }
    if (item.get(node) != simdjson::SUCCESS) return WrongType("Nodes.items", "a list of nodes");
    const std::optional<element> of_node = Member(node, "metadata");
    if (of_node && of_node->get(metadata) != simdjson::SUCCESS)
      return WrongType("Nodes.items", "a list of nodes with metadata");
    const std::optional<element> of_metadata = of_node ? Member(metadata, "name") : std::nullopt;
    if (of_metadata && of_metadata->get(name) != simdjson::SUCCESS)
      return WrongType("Nodes.items", "a list of nodes with names");
    names.emplace_back(name);
  }
  return names;
}

Expected<std::vector<std::string>> ReadNames(const element& value) {
  std::vector<std::string> names;
  array items;
  if (value.get(items) != simdjson::SUCCESS) return WrongType("NodeNames", "a list of strings");
  for (const element item : items) {
    std::string_view name;
    if (!item.is_null() && item.get(name) != simdjson::SUCCESS) return WrongType("NodeNames", "a list of strings");
    names.emplace_back(name);
  }
  return names;
}

Expected<void> ReadReasons(const object& from, std::string_view field,
                           std::vector<std::pair<std::string, std::string>>& out) {
  const std::optional<element> value = Member(from, field);
  if (!value) return {};
  object reasons;
  if (value->get(reasons) != simdjson::SUCCESS) return WrongType(field, "an object of strings");
  for (const auto& member : reasons) {
    std::string_view reason;
    if (!member.value.is_null() && member.value.get(reason) != simdjson::SUCCESS)
      return WrongType(field, "an object of strings");
    out.emplace_back(member.key, Cut(reason));
  }
  return {};
}

// Fails with the error that the extender itself reports.
Expected<void> CheckError(const object& from) {
  const std::optional<element> value = Member(from, "Error");
  if (!value) return {};
  std::string_view text;
  if (value->get(text) != simdjson::SUCCESS) return WrongType("Error", "a string");
  if (!text.empty()) return Error{ErrorCode::kInternal, Cut(text)};
  return {};
}

// An answer `null` counts as empty, as in Go.
Expected<std::optional<object>> ReadObject(codec::JsonReader& reader, std::string_view body) {
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  object read;
  if (root.is_null()) return std::optional<object>();
  if (root.get(read) != simdjson::SUCCESS) return InvalidError("the answer must be an object");
  return std::optional<object>(read);
}

// The pods of NodeNameToMetaVictims that an extender wants gone from one node.
Expected<scheduler::VictimsOnNode> ReadMetaVictims(std::string_view node_name, const element& value) {
  scheduler::VictimsOnNode read;
  read.node_name = node_name;
  // Null counts as an empty list, as in Go. The core then reports that an extender named no victims.
  if (value.is_null()) return read;
  object victims;
  if (value.get(victims) != simdjson::SUCCESS) return WrongType("NodeNameToMetaVictims", "an object of objects");
  const std::optional<element> violations = Member(victims, "NumPDBViolations");
  if (violations && (!violations->is_int64() || violations->get(read.pdb_violations) != simdjson::SUCCESS))
    return WrongType("NumPDBViolations", "a whole number of 64 bits");
  const std::optional<element> pods = Member(victims, "Pods");
  array list;
  if (pods && pods->get(list) != simdjson::SUCCESS) return WrongType("Pods", "a list of {UID}");
  if (!pods) return read;
  for (const element item : list) {
    object pod;
    std::string_view uid;
    if (item.get(pod) != simdjson::SUCCESS) return WrongType("Pods", "a list of {UID}");
    const std::optional<element> member = Member(pod, "UID");
    if (member && member->get(uid) != simdjson::SUCCESS) return WrongType("UID", "a string");
    read.pod_uids.emplace_back(uid);
  }
  return read;
}

// The entries of a Go map from node names, in its encoder's order. `write_pods` appends what stands for the victims.
template <typename WritePods>
void AppendVictims(std::string& body, std::span<const scheduler::VictimsOnNode> victims, const WritePods& write_pods) {
  std::map<std::string_view, const scheduler::VictimsOnNode*> by_node;
  for (const scheduler::VictimsOnNode& each : victims) by_node.emplace(each.node_name, &each);
  char separator = '{';
  for (const auto& [node_name, each] : by_node) {
    body.append(1, separator).append(GoJson(node_name)).append(":{\"Pods\":[");
    write_pods(*each);
    body.append("],\"NumPDBViolations\":").append(std::to_string(each->pdb_violations)).append("}");
    separator = ',';
  }
  body += by_node.empty() ? "{}" : "}";
}

codec::ReadLimits Limits() { return {.depth_max = kDepthMax}; }

}  // namespace

std::string ObjectForExtender(const element& whole) {
  object members;
  if (whole.get(members) != simdjson::SUCCESS) return "{}";
  return Escaped(Rewritten(members, [](std::string_view key, const element& value) -> std::optional<std::string> {
    if (key == "kind" || key == "apiVersion") return std::nullopt;
    object metadata;
    if (key != "metadata" || value.get(metadata) != simdjson::SUCCESS) return simdjson::minify(value);
    return Rewritten(metadata, [](std::string_view name, const element& each) -> std::optional<std::string> {
      if (name == "managedFields") return std::nullopt;
      return simdjson::minify(each);
    });
  }));
}

std::string ExtenderArgs(std::string_view pod, std::span<const std::shared_ptr<const std::string>> nodes) {
  std::size_t bytes = pod.size() + 64;
  for (const auto& node : nodes) bytes += node->size() + 1;
  std::string body;
  body.reserve(bytes);
  body.append("{\"Pod\":").append(pod).append(",\"Nodes\":{\"metadata\":{},\"items\":");
  if (nodes.empty()) {
    body += "null";
  } else {
    char separator = '[';
    for (const auto& node : nodes) {
      body.append(1, separator).append(*node);
      separator = ',';
    }
    body += ']';
  }
  return body.append("},\"NodeNames\":null}");
}

std::string ExtenderArgsOfNames(std::string_view pod, std::span<const std::string> node_names) {
  std::string body;
  body.append("{\"Pod\":").append(pod).append(",\"Nodes\":null,\"NodeNames\":[");
  for (std::size_t i = 0; i < node_names.size(); ++i) body.append(i == 0 ? "" : ",").append(GoJson(node_names[i]));
  return body.append("]}");
}

std::string ExtenderPreemptionArgsOfUids(std::string_view pod, std::span<const scheduler::VictimsOnNode> victims) {
  std::string body;
  body.append("{\"Pod\":").append(pod).append(",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":");
  AppendVictims(body, victims, [&](const scheduler::VictimsOnNode& each) {
    const char* separator = "";
    for (const std::string& uid : each.pod_uids) {
      body.append(separator).append("{\"UID\":").append(GoJson(uid)).append("}");
      separator = ",";
    }
  });
  return body.append("}");
}

std::string ExtenderPreemptionArgs(std::string_view pod, std::span<const scheduler::VictimsOnNode> victims,
                                   const PodJson& pod_json) {
  std::string body;
  body.append("{\"Pod\":").append(pod).append(",\"NodeNameToVictims\":");
  AppendVictims(body, victims, [&](const scheduler::VictimsOnNode& each) {
    const char* separator = "";
    for (const std::string& uid : each.pod_uids) {
      const std::shared_ptr<const std::string> victim = pod_json(uid);
      if (victim == nullptr) continue;
      body.append(separator).append(*victim);
      separator = ",";
    }
  });
  return body.append(",\"NodeNameToMetaVictims\":null}");
}

std::string ExtenderBindingArgs(const framework::PodRef& pod, std::string_view node_name) {
  std::string body = "{\"PodName\":" + GoJson(pod.name);
  body.append(",\"PodNamespace\":").append(GoJson(pod.namespace_name));
  body.append(",\"PodUID\":").append(GoJson(pod.uid));
  return body.append(",\"Node\":").append(GoJson(node_name)).append("}");
}

Expected<ExtenderAnswer> ParseExtenderFilterResult(std::string_view body, const FilterQuestion& question) {
  codec::JsonReader reader(Limits());
  BERTH_ASSIGN_OR_RETURN(const std::optional<object> result, ReadObject(reader, body));
  ExtenderAnswer answer;
  if (!result) return answer;
  BERTH_RETURN_IF_ERROR(CheckError(*result));
  const std::optional<element> nodes = Member(*result, "Nodes");
  const std::optional<element> names = Member(*result, "NodeNames");
  if (question.node_cache_capable && names) {
    BERTH_ASSIGN_OR_RETURN(answer.node_names, ReadNames(*names));
  } else if (nodes) {
    BERTH_ASSIGN_OR_RETURN(answer.node_names, ReadNodeList(*nodes));
  }
  BERTH_RETURN_IF_ERROR(ReadReasons(*result, "FailedNodes", answer.failed_nodes));
  BERTH_RETURN_IF_ERROR(ReadReasons(*result, "FailedAndUnresolvableNodes", answer.failed_and_unresolvable_nodes));
  // Upstream checks only names, and accepts unknown nodes that come as whole objects.
  const StringHashSet asked(question.node_names.begin(), question.node_names.end());
  for (const std::string& name : answer.node_names) {
    if (asked.contains(name)) continue;
    return InvalidError("extender " + GoJson(question.url_prefix) + " claims a filtered node " + GoJson(Cut(name)) +
                        " which is not found in the input node list");
  }
  return answer;
}

Expected<ExtenderAnswer> ParseHostPriorityList(std::string_view body) {
  codec::JsonReader reader(Limits());
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  ExtenderAnswer answer;
  if (root.is_null()) return answer;
  array list;
  if (root.get(list) != simdjson::SUCCESS) return InvalidError("the answer must be a list of {Host, Score}");
  for (const element item : list) {
    object each;
    if (item.is_null()) {  // an entry without host and score, as in Go
      answer.scores.emplace_back();
      continue;
    }
    if (item.get(each) != simdjson::SUCCESS) return InvalidError("the answer must be a list of {Host, Score}");
    const std::optional<element> host = Member(each, "Host");
    const std::optional<element> score = Member(each, "Score");
    std::string_view name;
    std::int64_t value = 0;
    if (host && host->get(name) != simdjson::SUCCESS) return WrongType("Host", "a string");
    if (score && (!score->is_int64() || score->get(value) != simdjson::SUCCESS))
      return WrongType("Score", "a whole number of 64 bits");
    answer.scores.emplace_back(name, value);
  }
  return answer;
}

Expected<ExtenderAnswer> ParseExtenderPreemptionResult(std::string_view body) {
  codec::JsonReader reader(Limits());
  BERTH_ASSIGN_OR_RETURN(const std::optional<object> result, ReadObject(reader, body));
  ExtenderAnswer answer;
  const std::optional<element> victims = result ? Member(*result, "NodeNameToMetaVictims") : std::nullopt;
  if (!victims) return answer;
  object by_node;
  if (victims->get(by_node) != simdjson::SUCCESS) return WrongType("NodeNameToMetaVictims", "an object");
  std::map<std::string_view, element> last;  // of two members with one name the last counts, as in Go
  for (const auto& member : by_node) last.insert_or_assign(member.key, member.value);
  for (const auto& [node_name, value] : last) {
    BERTH_ASSIGN_OR_RETURN(scheduler::VictimsOnNode read, ReadMetaVictims(node_name, value));
    answer.victims.push_back(std::move(read));
  }
  return answer;
}

Expected<ExtenderAnswer> ParseExtenderBindingResult(std::string_view body) {
  codec::JsonReader reader(Limits());
  BERTH_ASSIGN_OR_RETURN(const std::optional<object> result, ReadObject(reader, body));
  if (result) BERTH_RETURN_IF_ERROR(CheckError(*result));
  return ExtenderAnswer();
}

}  // namespace berth::outside
