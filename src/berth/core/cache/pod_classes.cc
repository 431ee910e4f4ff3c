// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/pod_classes.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "berth/framework/make_pod_info.h"

namespace berth::cache {
namespace {

using framework::PodClass;

// Writes values in a self-delimiting form, so that different sequences of values give different bytes.
class KeyWriter {
 public:
  // `buffer` keeps its size from key to key and is longer than the key.
  explicit KeyWriter(std::vector<char>& buffer)
      : buffer_(buffer), at_(buffer.data()), end_(buffer.data() + buffer.size()) {}

  std::string_view key() const { return {buffer_.data(), size()}; }

  void Add(std::string_view text) {
    Reserve(text.size() + kNumberMax);
    PutNumber(text.size());
    if (text.empty()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void Add(std::uint64_t number) {
    Reserve(kNumberMax);
    PutNumber(number);
  }
  void AddBytes(const void* bytes, std::size_t count) {
    Reserve(count);
    std::memcpy(at_, bytes, count);
    at_ += count;
  }
  void AddSigned(std::int64_t number) { Add(static_cast<std::uint64_t>(number)); }
  void Add(bool flag) { Add(std::uint64_t{flag}); }

  void Add(const api::StringMap& map) {
    Add(static_cast<std::uint64_t>(map.size()));
    for (const auto& [key, value] : map) {
      Add(std::string_view(key));
      Add(std::string_view(value));
    }
  }
  void Add(const api::ResourceList& list) {
    Add(static_cast<std::uint64_t>(list.size()));
    for (const auto& [name, quantity] : list) {
      Add(std::string_view(name));
      const auto nanos = quantity.nanos();
      AddBytes(&nanos, sizeof(nanos));
    }
  }
  void Add(const std::vector<std::string>& texts) {
    Add(static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) Add(std::string_view(text));
  }
  void Add(const std::vector<api::Requirement>& requirements) {
    Add(static_cast<std::uint64_t>(requirements.size()));
    for (const api::Requirement& r : requirements) {
      Add(std::string_view(r.key));
      Add(static_cast<std::uint64_t>(r.op));
      if (r.op == api::SelectorOperator::kUnknown) Add(std::string_view(r.unknown_op));
      Add(r.values);
    }
  }
  void Add(const api::NodeSelectorTerm& term) {
    Add(term.match_expressions);
    Add(term.match_fields);
  }
  void Add(const api::NodeAffinity& affinity) {
    Add(affinity.required.has_value());
    if (affinity.required) {
      Add(static_cast<std::uint64_t>(affinity.required->size()));
      for (const api::NodeSelectorTerm& term : *affinity.required) Add(term);
    }
    Add(static_cast<std::uint64_t>(affinity.preferred.size()));
    for (const api::PreferredSchedulingTerm& preferred : affinity.preferred) {
      AddSigned(preferred.weight);
      Add(preferred.preference);
    }
  }
  void Add(const std::vector<api::Container>& containers) {
    Add(static_cast<std::uint64_t>(containers.size()));
    for (const api::Container& c : containers) {
      Add(std::string_view(c.name));
      Add(std::string_view(c.image));
      Add(static_cast<std::uint64_t>((c.restart_always ? 1 : 0) | (c.restarts_all_containers ? 2 : 0)));
      Add(static_cast<std::uint64_t>(c.ports.size()));
      for (const api::ContainerPort& port : c.ports) {
        AddSigned(port.host_port);
        Add(std::string_view(port.host_ip));
        Add(std::string_view(port.protocol));
      }
      Add(c.requests);
    }
  }
  void Add(const std::optional<api::LabelSelector>& selector) {
    Add(selector.has_value());
    if (selector) Add(selector->requirements);
  }
  void Add(const std::optional<std::string>& text) {
    Add(text.has_value());
    if (text) Add(std::string_view(*text));
  }
  void Add(const api::PodAffinityTerm& term) {
    Add(term.selector);
    Add(term.namespaces);
    Add(term.namespace_selector);
    Add(std::string_view(term.topology_key));
  }
  void Add(const api::PodAffinity& affinity) {
    Add(static_cast<std::uint64_t>(affinity.required.size()));
    for (const api::PodAffinityTerm& term : affinity.required) Add(term);
    Add(static_cast<std::uint64_t>(affinity.preferred.size()));
    for (const api::WeightedPodAffinityTerm& preferred : affinity.preferred) {
      AddSigned(preferred.weight);
      Add(preferred.term);
    }
  }
  void Add(const api::TopologySpreadConstraint& constraint) {
    AddSigned(constraint.max_skew);
    Add(std::string_view(constraint.topology_key));
    Add(static_cast<std::uint64_t>(constraint.when_unsatisfiable));
    Add(constraint.selector);
    Add(constraint.min_domains.has_value());
    AddSigned(constraint.min_domains.value_or(0));
    // 0 stands for an absent policy.
    for (const auto& policy : {constraint.node_affinity_policy, constraint.node_taints_policy}) {
      Add(policy ? static_cast<std::uint64_t>(*policy) + 1 : std::uint64_t{0});
    }
    Add(constraint.match_label_keys);
  }
  void Add(const api::Volume& volume) {
    const api::VolumeSource& source = volume.source;
    Add(std::string_view(volume.name));
    Add(static_cast<std::uint64_t>(source.kind));
    Add(std::string_view(source.id));
    Add(std::string_view(source.driver));
    Add(std::string_view(source.pool));
    Add(source.monitors);
    Add(source.read_only);
    Add(source.disk_kind);
  }
  void Add(const api::PodResourceClaim& claim) {
    Add(std::string_view(claim.name));
    Add(claim.claim_name);
    Add(claim.template_name);
  }
  template <typename Item>
  void AddAll(const std::vector<Item>& items) {
    Add(static_cast<std::uint64_t>(items.size()));
    for (const Item& item : items) Add(item);
  }
  void Add(const api::ContainerStatus& status) {
    Add(std::string_view(status.name));
    Add(status.requests.has_value());
    if (status.requests) Add(*status.requests);
    Add(status.allocated_resources.has_value());
    if (status.allocated_resources) Add(*status.allocated_resources);
  }

 private:
  static constexpr std::size_t kNumberMax = 10;

  std::size_t size() const { return static_cast<std::size_t>(at_ - buffer_.data()); }
  void PutNumber(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) *at_++ = static_cast<char>(number | 0x80);
    *at_++ = static_cast<char>(number);
  }
  void Reserve(std::size_t count) {
    if (static_cast<std::size_t>(end_ - at_) < count) Grow(count);
  }
  void Grow(std::size_t count) {
    const std::size_t written = size();
    buffer_.resize(2 * (written + count));
    at_ = buffer_.data() + written;
    end_ = buffer_.data() + buffer_.size();
  }

  std::vector<char>& buffer_;
  char* at_;  // write position in the buffer
  char* end_;
};

// Limits on buffers that are kept; longer keys are rare.
constexpr std::size_t kBufferKept = std::size_t{1} << 20;
constexpr std::size_t kLatestKeyMax = 4096;
// A pod with a longer key has a class of its own, because the key would double its memory and be compared each time.
constexpr std::size_t kSharedKeyMax = std::size_t{64} << 10;

bool IsEphemeral(const api::Volume& volume) { return volume.source.kind == api::VolumeKind::kEphemeral; }

// The part of the key that belongs to PodClass::placement_id: what one node is checked against. Rare parts are preceded
// by a mask that tells which are present.
void WritePlacement(const api::Pod& pod, const api::StringMap& annotations, KeyWriter& key) {
  const api::PodSpec& spec = pod.spec;
  const bool has_volumes = !spec.volumes.empty();
  const bool has_claims = !spec.resource_claims.empty();
  // The claim of an ephemeral volume has a name and an owner made from the pod's own.
  const bool is_alone = std::any_of(spec.volumes.begin(), spec.volumes.end(), IsEphemeral);
  const bool has_statuses = !pod.status.container_statuses.empty() || pod.status.pod_resources;
  key.Add(static_cast<std::uint64_t>((has_volumes ? 1 : 0) | (has_claims ? 2 : 0) | (is_alone ? 4 : 0) |
                                     (spec.host_network ? 8 : 0) | (spec.host_users ? 0 : 16) |
                                     (spec.node_affinity ? 32 : 0) | (has_statuses ? 64 : 0) |
                                     (framework::IsResizeInfeasible(pod) ? 128 : 0) | (annotations.empty() ? 0 : 256)));
  if (!annotations.empty()) key.Add(annotations);
  key.Add(spec.node_selector);
  if (spec.node_affinity) key.Add(*spec.node_affinity);
  key.Add(static_cast<std::uint64_t>(spec.tolerations.size()));
  for (const api::Toleration& t : spec.tolerations) {
    key.Add(std::string_view(t.key));
    key.Add(std::string_view(t.op));
    key.Add(std::string_view(t.value));
    key.Add(static_cast<std::uint64_t>(t.effect));
  }
  key.Add(spec.init_containers);
  key.Add(spec.containers);
  key.Add(spec.image_volumes);
  key.Add(spec.overhead);
  key.Add(spec.requests);
  if (has_volumes) key.AddAll(spec.volumes);
  if (has_claims) key.AddAll(spec.resource_claims);
  if (has_volumes || has_claims) key.Add(std::string_view(pod.metadata.namespace_name));
  if (is_alone) {
    key.Add(std::string_view(pod.metadata.name));
    key.Add(std::string_view(pod.metadata.uid));
  }
  if (!has_statuses) return;
  key.Add(static_cast<std::uint64_t>(pod.status.container_statuses.size()));
  for (const api::ContainerStatus& status : pod.status.container_statuses) key.Add(status);
  key.Add(pod.status.pod_resources.has_value());
  if (pod.status.pod_resources) key.Add(*pod.status.pod_resources);
}

// The part of the key that belongs to the class but not to the placement.
void WriteRest(const api::Pod& pod, KeyWriter& key) {
  const api::PodSpec& spec = pod.spec;
  const auto& owner = pod.metadata.controller;
  const bool has_affinity = !spec.pod_affinity.empty() || !spec.pod_anti_affinity.empty();
  const bool has_spread = !spec.topology_spread_constraints.empty();
  key.Add(static_cast<std::uint64_t>((has_affinity ? 1 : 0) | (has_spread ? 2 : 0) | (owner ? 4 : 0) |
                                     (spec.priority ? 8 : 0)));
  key.Add(std::string_view(pod.metadata.namespace_name));
  key.Add(pod.metadata.labels);
  if (owner) {
    key.Add(std::string_view(owner->api_version));
    key.Add(std::string_view(owner->kind));
    key.Add(std::string_view(owner->name));
    key.Add(std::string_view(owner->uid));
  }
  key.Add(std::string_view(spec.scheduler_name));
  if (spec.priority) key.AddSigned(*spec.priority);
  key.Add(static_cast<std::uint64_t>(spec.preemption_policy));
  key.Add(spec.scheduling_gates);
  if (has_affinity) {
    key.Add(spec.pod_affinity);
    key.Add(spec.pod_anti_affinity);
  }
  if (has_spread) key.AddAll(spec.topology_spread_constraints);
}

// Estimate from the key, which has everything that is in the class; short strings take several times their length.
std::size_t BytesOf(std::string_view key) { return sizeof(PodClass) + 2 * key.size(); }

}  // namespace

api::StringMap PodClasses::AnnotationsOf(const api::Pod& pod) const {
  if (annotations_.empty() || pod.metadata.annotations.empty()) return {};
  std::vector<api::StringMap::Entry> read;
  for (const std::string& key : annotations_) {
    if (key.ends_with('/')) {
      for (const auto& entry : pod.metadata.annotations) {
        if (entry.first.starts_with(key)) read.push_back(entry);
      }
      continue;
    }
    if (const std::string* value = pod.metadata.annotations.Find(key)) read.emplace_back(key, *value);
  }
  return api::StringMap(std::move(read));
}

std::shared_ptr<const PodClass> PodClasses::Classify(const api::Pod& pod) {
  KeyWriter writer(buffer_);
  api::StringMap annotations = AnnotationsOf(pod);
  WritePlacement(pod, annotations, writer);
  const std::size_t placement_size = writer.key().size();
  WriteRest(pod, writer);
  const std::string_view key = writer.key();
  // Successive pods often have the same class.
  if (key == latest_key_) {
    if (auto known = latest_.lock()) return known;
  }
  if (key.size() > kSharedKeyMax) {
    const std::shared_ptr<PodClass> own = framework::MakePodClass(pod, std::move(annotations), release_);
    own->id = own->placement_id = next_id_++;
    own->bytes = BytesOf(key);
    if (buffer_.size() > kBufferKept) buffer_ = {};
    return own;
  }
  auto& slot = classes_[key];
  latest_key_ = key.size() <= kLatestKeyMax ? key : std::string_view();
  if (auto known = slot.lock()) {
    latest_ = slot;
    return known;
  }
  const std::shared_ptr<PodClass> made = framework::MakePodClass(pod, std::move(annotations), release_);
  made->id = next_id_++;
  made->bytes = BytesOf(key);
  made->placement_id = placements_.try_emplace(key.substr(0, placement_size), made->id).first->second;
  latest_ = slot = made;
  key_bytes_ += key.size() + placement_size;
  if (classes_.size() >= sweep_at_ || key_bytes_ >= sweep_at_bytes_) Sweep();
  if (buffer_.size() > kBufferKept) buffer_ = {};
  return made;
}

void PodClasses::Sweep() {
  // Which classes share a placement must not depend on what has come and gone: an entry stays while any class has its
  // id.
  absl::flat_hash_set<std::uint64_t> live;
  absl::erase_if(classes_, [&](const auto& entry) {
    const auto known = entry.second.lock();
    if (known != nullptr) live.insert(known->placement_id);
    return known == nullptr;
  });
  absl::erase_if(placements_, [&](const auto& entry) { return !live.contains(entry.second); });
  sweep_at_ = std::max<std::size_t>(1024, classes_.size() * 2);
  key_bytes_ = 0;
  for (const auto& [key, value] : classes_) key_bytes_ += key.size();
  for (const auto& [key, value] : placements_) key_bytes_ += key.size();
  sweep_at_bytes_ = std::max(kKeyBytesMin, 2 * key_bytes_);
}

framework::PodInfoPtr PodClasses::MakePodInfo(const api::Pod& pod) {
  return framework::MakePodInfo(pod, Classify(pod));
}

}  // namespace berth::cache
