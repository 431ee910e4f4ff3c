// SPDX-License-Identifier: Apache-2.0
// PodClasses: finds or makes the class of a pod. Two pods are of one class when nothing that can influence a decision
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
  // `annotations`: the keys of those that plugins read, and prefixes, which end with a slash. `release` says how
  // requests are counted.
  explicit PodClasses(std::vector<std::string> annotations = {}, const framework::Release& release = {})
      : annotations_(std::move(annotations)), release_(release) {}

  // The pod as the core keeps it. A class lives as long as one of its pods.
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);

  // Forgets classes without a pod, as it does by itself when their number or the bytes of their keys double: they hold
  // memory until then.
  void Sweep();

  std::size_t size() const { return classes_.size(); }

 private:
  // Keys of fewer bytes are not worth a sweep.
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
  // Keyed by the exact bytes of all that makes the class, so that equal keys are equal classes.
  Table<std::weak_ptr<const framework::PodClass>> classes_;
  struct Placement {
    std::uint64_t id = 0;
    std::weak_ptr<const framework::PodClass> latest;
  };
  Table<Placement> placements_;
  std::vector<char> buffer_;  // scratch
  std::string latest_key_;    // of latest_, the class that was given out last
  std::weak_ptr<const framework::PodClass> latest_;
  std::size_t sweep_at_ = 1024;
  std::size_t key_bytes_ = 0;  // of both tables
  std::size_t sweep_at_bytes_ = kKeyBytesMin;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::cache
