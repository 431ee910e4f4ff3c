// SPDX-License-Identifier: Apache-2.0
#include "berth/demo/demo_pods.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"

namespace berth::demo {
namespace {

using codec::json::array;
using codec::json::object;

std::string DeploymentDocument(const DemoWorkload& workload, const std::string& scheduler_name) {
  const object labels{{"app", workload.name}};
  object annotations;
  for (const auto& [key, value] : workload.annotations) annotations[key] = value;
  object pod_labels = labels;
  for (const auto& [key, value] : workload.labels) pod_labels[key] = value;
  object metadata{{"labels", std::move(pod_labels)}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  object requests{{"cpu", workload.cpu}, {"memory", "128Mi"}};
  object limits;  // of extended resources, which are what is asked for
  for (const auto& [name, amount] : workload.resources) requests[name] = limits[name] = amount;
  object resources{{"requests", std::move(requests)}};
  if (!limits.empty()) resources["limits"] = std::move(limits);
  object spec{
      {"schedulerName", scheduler_name},
      {"containers", array{object{{"name", "nginx"}, {"image", "nginx:1.27"}, {"resources", std::move(resources)}}}}};
  if (workload.gang > 0) spec["schedulingGroup"] = object{{"podGroupName", workload.name}};
  return codec::WriteJson(
      object{{"apiVersion", "apps/v1"},
             {"kind", "Deployment"},
             {"metadata", object{{"name", workload.name}, {"namespace", "default"}, {"labels", labels}}},
             {"spec", object{{"replicas", workload.replicas},
                             {"selector", object{{"matchLabels", labels}}},
                             {"template", object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}}}}});
}

std::string PodGroupDocument(const DemoWorkload& workload) {
  return codec::WriteJson(
      object{{"apiVersion", "scheduling.k8s.io/v1beta1"},
             {"kind", "PodGroup"},
             {"metadata", object{{"name", workload.name}}},
             {"spec", object{{"schedulingPolicy", object{{"gang", object{{"minCount", workload.gang}}}}}}}});
}

Expected<void> Post(client::RestClient& rest, std::string target, std::string body) {
  net::Request create;
  create.method = "POST";
  create.target = std::move(target);
  create.body = std::move(body);
  if (const auto created = rest.DoSync(std::move(create)); !created.ok()) return created.error();
  return {};
}

std::string TextAt(simdjson::dom::element object, std::initializer_list<std::string_view> path) {
  const auto found = codec::FindPath(object, path);
  std::string_view text;
  return found && found->get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

Expected<void> CreateWorkload(client::RestClient& rest, const DemoWorkload& workload,
                              const std::string& scheduler_name) {
  if (workload.gang > 0) {
    BERTH_RETURN_IF_ERROR(
        Post(rest, "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", PodGroupDocument(workload)));
  }
  return Post(rest, "/apis/apps/v1/namespaces/default/deployments", DeploymentDocument(workload, scheduler_name));
}

std::unique_ptr<client::Informer<ShownPod>> WatchPods(client::RestClient& rest,
                                                      std::function<void(const ShownPod&)> set,
                                                      std::function<void(const std::string& name)> remove) {
  using Ptr = std::shared_ptr<const ShownPod>;
  client::Informer<ShownPod>::Options options;
  options.name = "pods";
  options.path = "/api/v1/namespaces/default/pods";
  options.decode = [](const simdjson::dom::element& object) -> Expected<Ptr> {
    std::string phase = TextAt(object, {"status", "phase"});
    if (!TextAt(object, {"metadata", "deletionTimestamp"}).empty()) phase = "Terminating";
    return Ptr(std::make_shared<ShownPod>(
        ShownPod{TextAt(object, {"metadata", "name"}), TextAt(object, {"metadata", "labels", "app"}), std::move(phase),
                 TextAt(object, {"spec", "nodeName"}), TextAt(object, {"metadata", "uid"})}));
  };
  client::Informer<ShownPod>::Handler handler;
  handler.on_add = [set](const Ptr& pod) { set(*pod); };
  handler.on_update = [set](const Ptr&, const Ptr& pod) { set(*pod); };
  handler.on_delete = [remove = std::move(remove)](const Ptr& pod) { remove(pod->name); };
  return std::make_unique<client::Informer<ShownPod>>(rest, std::move(options), std::move(handler));
}

cli::Table::Style StyleOf(const cli::Terminal& terminal) {
  return {terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns : 0};
}

}  // namespace berth::demo
