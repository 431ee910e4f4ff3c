// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/image_locality/image_locality.h"

#include <algorithm>
#include <string>
#include <utility>

#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::size_t kRowsByNodeMax = 16;
constexpr std::int64_t kMi = 1024 * 1024;
constexpr std::int64_t kSumMin = 23 * kMi;
constexpr std::int64_t kSumMaxPerImage = 1000 * kMi;

// The image's name with its tag, which is "latest" unless the name says otherwise.
std::string NormalizedName(const std::string& image) {
  const std::size_t colon = image.rfind(':');
  const std::size_t slash = image.rfind('/');
  const bool has_tag = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return has_tag ? image : image + ":latest";
}

bool HasImage(const api::Node& node, std::string_view name) {
  return std::any_of(node.images.begin(), node.images.end(), [name](const api::ContainerImage& image) {
    return std::find(image.names.begin(), image.names.end(), name) != image.names.end();
  });
}

// An image's size, scaled by the share of nodes that have it, so that not everything gathers on the one node that does.
// Upstream computes this in floating point.
std::int64_t ScaledSize(const NodeTable& nodes, std::string_view image) {
  const double spread = static_cast<double>(nodes.ImageNodeCount(image)) / static_cast<double>(nodes.node_count());
  return static_cast<std::int64_t>(static_cast<double>(nodes.ImageSizeBytes(image)) * spread);
}

class ImageLocality final : public FastScore {
 public:
  explicit ImageLocality(const Handle& handle)
      : scores_image_volumes_(handle.release().scores_image_volumes),
        counts_image_volumes_(handle.release().counts_image_volumes) {}

  std::string_view Name() const override { return names::kImageLocality; }
  bool ReadsPlacementOnly() const override { return true; }

  // An image's share of all nodes counts, so any change of a node may change every score.
  Dependency ScoreDependsOn() const override { return Dependency::kCluster; }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    std::int64_t sum = 0;
    ForEachImage(pod.spec(), [&](const std::string& image) {
      const std::string name = NormalizedName(image);
      if (HasImage(node.node(), name)) sum += ScaledSize(cycle.table, name);
    });
    return ToScore(sum, pod.spec());
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    // Only images that some node has can make a difference: mostly there are none.
    std::vector<std::pair<std::string, std::int64_t>> images;
    ForEachImage(pod.spec(), [&](const std::string& image) {
      std::string name = NormalizedName(image);
      if (cycle.table.ImageNodeCount(name) == 0) return;
      const std::int64_t size = ScaledSize(cycle.table, name);
      images.emplace_back(std::move(name), size);
    });
    if (images.empty()) return framework::FillRows(rows, scores, ToScore(0, pod.spec()));
    // The sums are made image by image, over the nodes that have it, unless only few nodes are asked about.
    std::vector<std::int64_t> sums;
    if (rows.size() > kRowsByNodeMax) {
      sums.resize(cycle.nodes.row_count());
      for (const auto& [name, size] : images) {
        for (const NodeIndex row : cycle.table.ImageRows(name)) sums[row] += size;
      }
    }
    std::int64_t last_sum = 0;
    std::int64_t last_score = ToScore(0, pod.spec());
    for (const NodeIndex row : rows) {
      std::int64_t sum = 0;
      if (!sums.empty()) {
        sum = sums[row];
      } else {
        for (const auto& [name, size] : images) {
          if (HasImage(cycle.nodes.Info(row).node(), name)) sum += size;
        }
      }
      if (sum != last_sum) {
        last_sum = sum;
        last_score = ToScore(sum, pod.spec());
      }
      scores[row] = last_score;
    }
  }

  std::optional<std::int64_t> ScoreOfAll(const Cycle& cycle, const PodInfo& pod) const override {
    bool is_known = false;
    ForEachImage(pod.spec(), [&](const std::string& image) {
      is_known = is_known || cycle.table.ImageNodeCount(NormalizedName(image)) > 0;
    });
    return is_known ? std::nullopt : std::optional(ToScore(0, pod.spec()));
  }

 private:
  template <typename Visit>
  void ForEachImage(const api::PodSpec& spec, const Visit& visit) const {
    for (const api::Container& container : spec.init_containers) visit(container.image);
    for (const api::Container& container : spec.containers) visit(container.image);
    if (!scores_image_volumes_) return;
    for (const std::string& reference : spec.image_volumes) visit(reference);
  }

  std::int64_t ToScore(std::int64_t sum, const api::PodSpec& spec) const {
    std::size_t count = spec.init_containers.size() + spec.containers.size();
    if (counts_image_volumes_) count += spec.image_volumes.size();
    const std::int64_t sum_max = kSumMaxPerImage * static_cast<std::int64_t>(count);
    if (sum < kSumMin) {
      sum = kSumMin;
    } else if (sum > sum_max) {
      sum = sum_max;
    }
    return framework::kNodeScoreMax * (sum - kSumMin) / (sum_max - kSumMin);
  }

  const bool scores_image_volumes_;
  const bool counts_image_volumes_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateImageLocality(Handle& handle) {
  return std::make_unique<ImageLocality>(handle);
}

}  // namespace berth::plugins
