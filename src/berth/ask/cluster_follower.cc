// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/cluster_follower.h"

#include <string_view>
#include <utility>
#include <variant>

#include "berth/framework/object_kinds.h"
#include "berth/whatif/state_builder.h"

namespace berth::ask {
namespace {

constexpr std::size_t NumberOf(framework::ObjectKind kind) { return 2 + static_cast<std::size_t>(kind); }

bool IsRefused(const std::optional<Error>& failure) {
  return failure && (failure->code == ErrorCode::kForbidden || failure->code == ErrorCode::kNotFound);
}

// The metadata of the one object.
const api::ObjectMeta* MetaOf(const whatif::ClusterState& of) {
  if (!of.nodes.empty()) return &of.nodes.front()->metadata;
  if (!of.pods.empty()) return &of.pods.front()->metadata;
  if (!of.finished_pods.empty()) return &of.finished_pods.front()->metadata;
  if (of.objects.empty()) return nullptr;
  return std::visit([](const auto& each) { return &each->metadata; }, of.objects.front());
}

StateChange ChangeTo(std::size_t kind, std::shared_ptr<const whatif::ClusterState> object) {
  StateChange change;
  change.kind = kind;
  if (const api::ObjectMeta* const meta = MetaOf(*object)) {
    change.namespace_name = meta->namespace_name;
    change.name = meta->name;
  } else {
    change.namespace_name = object->admission.front().namespace_name;
    change.name = object->admission.front().name;
  }
  change.object = std::move(object);
  return change;
}

}  // namespace

ClusterFollower::ClusterFollower(client::RestClient& rest, ChangeLog& log, FollowOptions options)
    : rest_(rest), log_(log), options_(std::move(options)) {
  for (std::size_t kind = 0; kind < whatif::kKindCount; ++kind) {
    if (kind == NumberOf(framework::ObjectKind::kPodGroup) && !options_.reads_pod_groups) continue;
    if (kind == NumberOf(framework::ObjectKind::kCompositePodGroup) && !options_.reads_composite_pod_groups) continue;
    AddKind(kind);
  }
}

ClusterFollower::~ClusterFollower() = default;

void ClusterFollower::Start() {
  TellFacts();
  for (const Kind& kind : kinds_) kind.informer->Start();
}

void ClusterFollower::Stop() {
  for (const Kind& kind : kinds_) kind.informer->Stop();
}

bool ClusterFollower::HasSynced() const {
  for (const Kind& kind : kinds_) {
    if (kind.informer->HasSynced()) continue;
    const bool is_needed = kind.number == whatif::kNodes || kind.number == whatif::kPods;
    if (is_needed || !IsRefused(kind.informer->Stats().failure)) return false;
  }
  return true;
}

std::optional<std::string> ClusterFollower::Problem() const {
  for (const Kind& kind : kinds_) {
    if (kind.number != whatif::kNodes && kind.number != whatif::kPods) continue;
    const client::ReflectorStats stats = kind.informer->Stats();
    if (stats.failure)
      return "listing " + std::string(whatif::KindInfo(kind.number).resource) + ": " + stats.failure->message;
  }
  if (!HasSynced()) return "the cluster has not been read to its end yet";
  return std::nullopt;
}

void ClusterFollower::TellFacts() { log_.SetFacts(options_.source, options_.kubernetes_version, LeftOut()); }

std::vector<std::string> ClusterFollower::LeftOut() const {
  std::vector<std::string> lines;
  for (const Kind& kind : kinds_) {
    const client::ReflectorStats stats = kind.informer->Stats();
    const std::string resource(whatif::KindInfo(kind.number).resource);
    if (!kind.informer->HasSynced() && IsRefused(stats.failure)) {
      const bool is_missing = stats.failure->code == ErrorCode::kNotFound;
      lines.push_back(resource + (is_missing ? ": not served: " : ": forbidden: ") + stats.failure->message);
    }
    if (stats.set_aside > 0)
      lines.push_back(resource + ": " + std::to_string(stats.set_aside) + " whose newest version cannot be read");
  }
  return lines;
}

void ClusterFollower::AddKind(std::size_t number) {
  client::Informer<OneObject>::Options options;
  options.name = whatif::KindInfo(number).resource;
  options.path = whatif::KindPath(number, options_.release_minor);
  options.streams_list = true;
  options.keeps_objects = false;  // the log has them
  options.may_be_missing =
      !whatif::IsServedByAll(number) || whatif::KindInfo(number).group_version.starts_with("resource.k8s.io/");
  options.seed = options_.seed + number;
  options.decode = [number](const simdjson::dom::element& object) { return DecodeForState(number, object); };
  client::Informer<OneObject>::Handler handler;
  handler.on_add = [this, number](std::shared_ptr<const OneObject> object) {
    log_.Push(ChangeTo(number, std::move(object)));
  };
  handler.on_update = [this, number](const std::shared_ptr<const OneObject>&, std::shared_ptr<const OneObject> object) {
    log_.Push(ChangeTo(number, std::move(object)));
  };
  handler.on_gone = [this, number](const client::Reflector::Identity& object) {
    StateChange gone;
    gone.kind = number;
    gone.namespace_name = object.namespace_name;
    gone.name = object.name;
    gone.uid = number == whatif::kPods ? object.uid : std::string_view();
    log_.Push(std::move(gone));
  };
  kinds_.push_back(
      {number, std::make_unique<client::Informer<OneObject>>(rest_, std::move(options), std::move(handler))});
}

}  // namespace berth::ask
