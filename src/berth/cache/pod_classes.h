// PodClasses: finds or makes the class of a pod. Two pods are of one class when nothing that can influence a decision
// differs between them. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/framework/pod_info.h"

namespace berth::cache {

class PodClasses {
 public:
  // The pod as the core keeps it. A class lives as long as one of its pods.
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);

  std::size_t size() const { return classes_.size(); }

 private:
  std::shared_ptr<const framework::PodClass> Classify(const api::Pod& pod);
  void SweepWhenGrown();

  // Keyed by the exact bytes of all that makes the class, so that equal keys are equal classes.
  StringHashMap<std::weak_ptr<const framework::PodClass>> classes_;
  struct Placement {
    std::uint64_t id = 0;
    std::weak_ptr<const framework::PodClass> latest;
  };
  StringHashMap<Placement> placements_;
  std::string key_;  // scratch
  std::size_t sweep_at_ = 1024;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::cache
