// SPDX-License-Identifier: Apache-2.0
// PodClasses: interns the classes of pods. Two pods have the same class if nothing that can influence a decision
// differs between them. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/api/pod.h"
#include "berth/base/text_hash.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::cache {

class PodClasses {
 public:
  // `annotations`: the keys of annotations that plugins read; an entry that ends with a slash is a prefix. `release`
  // determines how requests are counted.
  explicit PodClasses(std::vector<std::string> annotations = {}, const framework::Release& release = {})
      : annotations_(std::move(annotations)), release_(release) {}

  // Makes the core's form of a pod. A class lives as long as one of its pods.
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);

  // Erases the keys of classes without pods, which hold memory until then. This also happens when the number of classes
  // or the bytes of their keys have doubled.
  void Sweep();

  std::size_t size() const { return classes_.size(); }

 private:
  // No sweep is due while the keys take less.
  static constexpr std::size_t kKeyBytesMin = std::size_t{16} << 20;

  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return HashText(key); }
  };
  template <typename Value>
  using Table = absl::flat_hash_map<std::string, Value, KeyHash, std::equal_to<>>;

  std::shared_ptr<const framework::PodClass> Classify(const api::Pod& pod);
  api::StringMap AnnotationsOf(const api::Pod& pod) const;

  const std::vector<std::string> annotations_;
  const framework::Release release_;
  // The key contains the exact bytes of everything that makes up the class, so that equal keys mean equal classes.
  Table<std::weak_ptr<const framework::PodClass>> classes_;
  Table<std::uint64_t> placements_;  // PodClass::placement_id by the part of the key that it stands for
  std::vector<char> buffer_;         // scratch
  std::string latest_key_;           // key of latest_, the class returned last
  std::weak_ptr<const framework::PodClass> latest_;
  std::size_t sweep_at_ = 1024;
  std::size_t key_bytes_ = 0;  // in both tables
  std::size_t sweep_at_bytes_ = kKeyBytesMin;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::cache
