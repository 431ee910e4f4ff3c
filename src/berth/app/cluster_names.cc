// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster_names.h"

#include <cstdlib>
#include <utility>

#include "berth/app/common_flags.h"
#include "berth/app/process.h"
#include "berth/app/question_flags.h"
#include "berth/codec/json_reader.h"

namespace berth::app {
namespace {

constexpr std::size_t kBytesMax = std::size_t{8} << 20;
// Of pods and nodes only what names them.
constexpr const char* kNamesOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

QuestionOptions OptionsOf(const TypedFlags& typed) {
  const auto value = [&](const char* flag) {
    const auto found = typed.find(flag);
    return found == typed.end() ? std::string() : found->second;
  };
  QuestionOptions options;
  options.connection.kubeconfig = value("kubeconfig");
  if (const char* const file = std::getenv("KUBECONFIG"); options.connection.kubeconfig.empty() && file != nullptr)
    options.connection.kubeconfig = file;
  options.connection.context = value("context");
  options.connection.master = value("master");
  options.namespace_name = value("namespace");
  return options;
}

std::vector<std::string> NamesOfList(std::string_view body) {
  std::vector<std::string> names;
  codec::JsonReader reader;
  const auto list = reader.Parse(body);
  if (!list.ok()) return names;
  const auto items = codec::FindMember(*list, "items");
  if (!items || !items->is_array()) return names;
  const simdjson::dom::array objects = items->get_array().value();
  for (const simdjson::dom::element item : objects) {
    if (const auto metadata = codec::FindMember(item, "metadata"))
      names.emplace_back(codec::StringOrEmpty(*metadata, "name"));
  }
  return names;
}

}  // namespace

std::vector<std::string> NamesInCluster(std::string_view hint, const TypedFlags& typed) {
  if (typed.contains("snapshot")) return {};
  const QuestionOptions options = OptionsOf(typed);
  std::string namespace_name;
  if (hint == kPodHint) {
    auto meant = NamespaceOf(options);
    if (!meant.ok()) return {};
    namespace_name = std::move(*meant);
  }
  const std::string_view resource = hint == kPodHint ? "pods" : hint == kNodeHint ? "nodes" : "namespaces";
  const SystemClock clock;
  const auto to = Connection::Make(WithHomeKubeconfig(options.connection), clock, RandomSeed());
  if (!to.ok()) return {};
  net::Request request;
  request.target = client::WithQuery(client::ObjectPath("/api/v1", namespace_name, resource),
                                     {{"limit", std::to_string(kNamesMax)}});
  request.headers.push_back({"Accept", kNamesOnly});
  client::RestOptions how;
  how.timeout = kNamesTimeout;
  how.tries = 1;
  how.body_bytes_max = kBytesMax;
  const auto response = (*to)->rest().DoSync(std::move(request), how);
  (*to)->Stop();
  return response.ok() ? NamesOfList(response->body) : std::vector<std::string>();
}

}  // namespace berth::app
