// SPDX-License-Identifier: Apache-2.0
// Node affinity of volumes, checked once and matched many times, and how it reads where an in-tree volume is served by
// a CSI driver instead (CSI migration). Upstream: CheckNodeAffinity of k8s.io/component-helpers/storage/volume and
// k8s.io/csi-translation-lib. Values; thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/storage.h"
#include "berth/base/expected.h"

namespace berth::plugins::volumes {

using NodeTerms = std::optional<std::vector<api::NodeSelectorTerm>>;

class VolumeAffinity {
 public:
  VolumeAffinity() = default;  // any node
  explicit VolumeAffinity(const NodeTerms& terms);

  bool MatchesAny() const { return !is_restricted_; }
  bool Matches(const api::StringMap& node_labels) const;

  // Alternatives, without fields; one without expressions matches every node.
  const std::vector<api::NodeSelectorTerm>& terms() const { return terms_; }

 private:
  bool is_restricted_ = false;
  std::vector<api::NodeSelectorTerm> terms_;
};

// The in-tree plugin that serves such volumes, where 1.36 migrates it to CSI: "kubernetes.io/aws-ebs"; else empty.
std::string_view MigratedPlugin(api::VolumeKind kind);

// Whether that plugin's volumes are served by CSI on the node. `node` may be null.
bool IsMigratedOn(std::string_view plugin, const api::CsiNode* node);

// The node affinity of the CSI volume that stands for an in-tree one of a migrated plugin. Errors are upstream's.
Expected<NodeTerms> TranslateAffinity(const api::PersistentVolume& volume);

// The affinity of a volume with regard to nodes where it is migrated and where it is not.
class NodeDependentAffinity {
 public:
  NodeDependentAffinity() = default;
  explicit NodeDependentAffinity(const api::PersistentVolume& volume);

  // The in-tree plugin that the volume migrates from; empty when there is none, and the CSINode does not matter.
  std::string_view migrated_plugin() const { return plugin_; }
  const VolumeAffinity& in_tree() const { return in_tree_; }
  // Where it is migrated. An error is for every node of that kind.
  const VolumeAffinity& migrated() const { return migrated_; }
  const std::string& migration_error() const { return error_; }

  // On a node with these labels; the error of a translation that failed.
  Expected<bool> Matches(const api::StringMap& node_labels, const api::CsiNode* node) const;

 private:
  std::string_view plugin_;
  VolumeAffinity in_tree_;
  VolumeAffinity migrated_;
  std::string error_;
};

}  // namespace berth::plugins::volumes
