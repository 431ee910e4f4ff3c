// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_affinity.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/plugins/helper/csi_migration.h"

namespace berth::plugins::volumes {
namespace {

constexpr std::string_view kMigratedPluginsAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kZoneBeta = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kRegionBeta = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZoneDelimiter = "__";

// The topology label of a CSI driver; empty: it takes the affinity as it is.
std::string_view TopologyKey(api::VolumeKind kind) {
  switch (kind) {
    case api::VolumeKind::kAwsElasticBlockStore: return "topology.ebs.csi.aws.com/zone";
    case api::VolumeKind::kGcePersistentDisk: return "topology.gke.io/zone";
    case api::VolumeKind::kCinder: return "topology.cinder.csi.openstack.org/zone";
    default: return {};
  }
}

template <typename Visit>
void ForRequirements(NodeTerms& terms, std::string_view key, const Visit& visit) {
  if (!terms) return;
  for (api::NodeSelectorTerm& term : *terms) {
    for (api::Requirement& requirement : term.match_expressions) {
      if (requirement.key == key) visit(requirement);
    }
  }
}

bool HasKey(NodeTerms& terms, std::string_view key) {
  bool has = false;
  ForRequirements(terms, key, [&](const api::Requirement&) { has = true; });
  return has;
}

bool HasValues(NodeTerms& terms, std::string_view key) {
  bool has = false;
  ForRequirements(terms, key, [&](const api::Requirement& r) { has |= !r.values.empty(); });
  return has;
}

void RenameKey(NodeTerms& terms, std::string_view from, std::string_view to) {
  ForRequirements(terms, from, [&](api::Requirement& r) { r.key = to; });
}

void AddToEachTerm(NodeTerms& terms, std::string_view key, const std::vector<std::string>& zones) {
  std::set<std::string> values;
  for (const std::string& zone : zones) {
    const std::string_view trimmed = Trim(zone, " \t\r\n\v\f");
    if (!trimmed.empty()) values.emplace(trimmed);
  }
  if (values.empty()) return;
  if (!terms) terms.emplace();
  if (terms->empty()) terms->emplace_back();
  for (api::NodeSelectorTerm& term : *terms) {
    term.match_expressions.push_back(
        {std::string(key), api::SelectorOperator::kIn, {values.begin(), values.end()}, {}});
  }
}

// translateTopologyFromInTreeToCSI: zones in the affinity come before those in the volume's labels.
void TranslateTopology(NodeTerms& terms, const api::StringMap& labels, std::string_view csi_key) {
  const bool is_beta =
      !HasKey(terms, kZone) && (HasKey(terms, kZoneBeta) || (labels.Find(kZone) == nullptr && labels.Find(kZoneBeta)));
  const std::string_view zone = is_beta ? kZoneBeta : kZone;
  if (HasValues(terms, zone)) {
    RenameKey(terms, zone, csi_key);
  } else if (const std::string* label = labels.Find(zone)) {
    AddToEachTerm(terms, csi_key, GoSplit(*label, kZoneDelimiter));
  }
  if (is_beta && HasValues(terms, kRegionBeta)) RenameKey(terms, kRegionBeta, kRegion);
}

}  // namespace

VolumeAffinity::VolumeAffinity(const NodeTerms& terms) : is_restricted_(terms.has_value()) {
  if (!terms) return;
  for (const api::NodeSelectorTerm& term : *terms) {
    if ((term.match_expressions.empty() && term.match_fields.empty()) || !term.Validate().ok()) continue;
    // Upstream matches a node that has labels but no name, and then leaves valid fields out of account.
    terms_.push_back({term.match_expressions, {}});
  }
}

bool VolumeAffinity::Matches(const api::StringMap& node_labels) const {
  if (!is_restricted_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const api::NodeSelectorTerm& term) {
    return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const api::Requirement& r) { return r.Matches(node_labels.Find(r.key)); });
  });
}

std::string_view MigratedPlugin(api::VolumeKind kind) {
  const std::string_view plugin = InTreePluginOf(kind);
  return IsMigrationOn(plugin) ? plugin : std::string_view();
}

bool IsMigratedOn(std::string_view plugin, const api::CsiNode* node) {
  if (plugin.empty() || node == nullptr) return false;
  const std::string* plugins = node->metadata.annotations.Find(kMigratedPluginsAnnotation);
  if (plugins == nullptr) return false;
  const std::vector<std::string> names = GoSplit(*plugins, ",");
  return std::find(names.begin(), names.end(), plugin) != names.end();
}

Expected<NodeTerms> TranslateAffinity(const api::PersistentVolume& volume) {
  const api::VolumeKind kind = volume.spec.source.kind;
  // Upstream translates the whole volume, and what has no handle has no affinity either.
  if (const auto handle = TranslatedHandle(volume); !handle.ok()) return handle.error();
  NodeTerms terms = volume.spec.node_affinity;
  const std::string_view key = TopologyKey(kind);
  if (!key.empty()) TranslateTopology(terms, volume.metadata.labels, key);
  return terms;
}

NodeDependentAffinity::NodeDependentAffinity(const api::PersistentVolume& volume)
    : plugin_(MigratedPlugin(volume.spec.source.kind)), in_tree_(volume.spec.node_affinity) {
  if (plugin_.empty()) return;
  auto terms = TranslateAffinity(volume);
  if (terms.ok()) {
    migrated_ = VolumeAffinity(*terms);
  } else {
    error_ = "could not translate pv: " + terms.error().message;
  }
}

Expected<bool> NodeDependentAffinity::Matches(const api::StringMap& node_labels, const api::CsiNode* node) const {
  if (!IsMigratedOn(plugin_, node)) return in_tree_.Matches(node_labels);
  if (!error_.empty()) return InvalidError(error_);
  return migrated_.Matches(node_labels);
}

}  // namespace berth::plugins::volumes
