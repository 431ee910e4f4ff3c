// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/pod_requests.h"

#include <algorithm>
#include <limits>
#include <string>

#include "berth/base/hash_map.h"

namespace berth::framework {
namespace {

using api::Quantity;
using Nanos = Quantity::Nanos;

// Sums are exact until the end, because upstream adds quantities and rounds up the sum instead of each part.
constexpr Nanos kNanosPerUnit = 1'000'000'000;
constexpr Nanos kNanosPerMilli = 1'000'000;

std::int64_t RoundAwayFromZero(Nanos nanos, Nanos per) {
  Nanos whole = nanos / per;
  if (nanos % per != 0) whole += nanos > 0 ? 1 : -1;
  constexpr Nanos kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp<Nanos>(whole, -kMax - 1, kMax));
}

// Map from resource name to exact amount. The names point into the pod class. It is usually a handful of entries that
// are searched linearly; above kScanMax entries they are found by hash.
class Amounts {
 public:
  Amounts() = default;
  explicit Amounts(const api::ResourceList& list) {
    for (const auto& [name, quantity] : list) Set(name, quantity.nanos());
  }

  const Nanos* Find(std::string_view name) const {
    const std::size_t at = IndexOf(name);
    return at < entries_.size() ? &entries_[at].second : nullptr;
  }
  Nanos Get(std::string_view name) const {
    const Nanos* amount = Find(name);
    return amount != nullptr ? *amount : 0;
  }
  void Set(std::string_view name, Nanos amount) { Entry(name).second = amount; }
  void Add(const Amounts& other) {
    for (const auto& [name, amount] : other.entries_) Entry(name).second += amount;
  }
  void Max(std::string_view name, Nanos amount) {
    const Nanos* mine = Find(name);
    if (mine == nullptr || amount > *mine) Set(name, amount);
  }
  void Max(const Amounts& other) {
    for (const auto& [name, amount] : other.entries_) Max(name, amount);
  }
  const auto& entries() const { return entries_; }

 private:
  std::pair<std::string_view, Nanos>& Entry(std::string_view name) {
    const std::size_t at = IndexOf(name);
    if (at < entries_.size()) return entries_[at];
    entries_.emplace_back(name, 0);
    if (!index_.empty()) {
      index_.emplace(name, at);
    } else if (entries_.size() > kScanMax) {
      for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].first, i);
    }
    return entries_.back();
  }

  // The number of entries if the name is not found.
  std::size_t IndexOf(std::string_view name) const {
    if (index_.empty()) {
      std::size_t i = 0;
      while (i < entries_.size() && entries_[i].first != name) ++i;
      return i;
    }
    const auto it = index_.find(name);
    return it == index_.end() ? entries_.size() : it->second;
  }

  static constexpr std::size_t kScanMax = 16;

  std::vector<std::pair<std::string_view, Nanos>> entries_;
  StringViewHashMap<std::size_t> index_;  // all entries, if there are more than kScanMax
};

struct Options {
  bool use_status = false;     // include the kubelet's statuses, for in-place resize
  bool use_pod_level = false;  // include spec.resources of the pod
  // Use the defaults for containers that have no request for the resource.
  bool default_cpu = false;
  bool default_memory = false;
};

bool IsPodLevelResource(std::string_view name) {
  return name == resources::kCpu || name == resources::kMemory || name.starts_with("hugepages-");
}

bool HasPodLevelRequests(const PodClass& c) {
  return std::any_of(c.spec.requests.begin(), c.spec.requests.end(),
                     [](const auto& entry) { return IsPodLevelResource(entry.first); });
}

// Whether anything besides the spec can change the requests.
bool HasStatus(const PodClass& c) { return !c.container_statuses.empty() || c.pod_resources || c.is_resize_infeasible; }

Amounts EffectiveRequests(const PodClass& c, const api::ResourceList& spec, const api::ContainerStatus& status) {
  Amounts effective = c.is_resize_infeasible ? Amounts() : Amounts(spec);
  effective.Max(Amounts(*status.requests));
  if (status.allocated_resources) effective.Max(Amounts(*status.allocated_resources));
  return effective;
}

// Statuses by container name; if several have the same name, the last one counts.
using Statuses = StringViewHashMap<const api::ContainerStatus*>;

Statuses StatusesOf(const PodClass& c) {
  Statuses statuses;
  for (const api::ContainerStatus& status : c.container_statuses) {
    if (status.requests) statuses[status.name] = &status;
  }
  return statuses;
}

// A container's requests, with defaults for missing ones.
Amounts WithDefaults(Amounts requests, const Options& options) {
  if (options.default_cpu && requests.Find(resources::kCpu) == nullptr) {
    requests.Set(resources::kCpu, kDefaultCpuMilliRequest * kNanosPerMilli);
  }
  if (options.default_memory && requests.Find(resources::kMemory) == nullptr) {
    requests.Set(resources::kMemory, kDefaultMemoryBytesRequest * kNanosPerUnit);
  }
  return requests;
}

// The sum over all containers, whose requests are `requests_of(container)`.
template <typename RequestsOf>
Amounts SumOfContainers(const PodClass& c, const Options& options, const RequestsOf& requests_of) {
  Amounts total;
  for (const api::Container& container : c.spec.containers) {
    total.Add(WithDefaults(requests_of(container, true), options));
  }
  // Init containers run one after another, each together with the sidecars that were started before it.
  Amounts sidecars;
  Amounts init_peak;
  for (const api::Container& container : c.spec.init_containers) {
    const Amounts requests = WithDefaults(requests_of(container, container.restart_always), options);
    if (container.restart_always) {
      total.Add(requests);
      sidecars.Add(requests);
    }
    // Only the resources of this container can change the peak; the sidecars' sums of other resources are included
    // already.
    for (const auto& [name, amount] : requests.entries()) {
      init_peak.Max(name, sidecars.Get(name) + (container.restart_always ? 0 : amount));
    }
  }
  total.Max(init_peak);
  return total;
}

// The sum of each container's largest amounts. Statuses of ordinary init containers are ignored.
Amounts SumOfLargest(const PodClass& c, const Options& options) {
  const Statuses statuses = options.use_status ? StatusesOf(c) : Statuses();
  return SumOfContainers(c, options, [&](const api::Container& container, bool stays) {
    const auto it = stays && !statuses.empty() ? statuses.find(container.name) : statuses.end();
    return it == statuses.end() ? Amounts(container.requests) : EffectiveRequests(c, container.requests, *it->second);
  });
}

// The largest of three sums: the spec, what the kubelet has allocated, and what the containers have.
Amounts LargestOfSums(const PodClass& c, const Options& options) {
  const auto sum_of_specs = [&] {
    return SumOfContainers(c, options,
                           [](const api::Container& container, bool) { return Amounts(container.requests); });
  };
  if (!options.use_status || !HasStatus(c)) return sum_of_specs();
  StringViewHashMap<const api::ContainerStatus*> statuses;
  for (const api::ContainerStatus& status : c.container_statuses) statuses.try_emplace(status.name, &status);
  const auto sum = [&](bool is_actuated) {
    return SumOfContainers(c, options, [&](const api::Container& container, bool) {
      const auto it = statuses.find(container.name);
      if (it != statuses.end()) {
        if (is_actuated && it->second->requests) return Amounts(*it->second->requests);
        if (it->second->allocated_resources) return Amounts(*it->second->allocated_resources);
      }
      return c.is_resize_infeasible ? Amounts() : Amounts(container.requests);
    });
  };
  Amounts total = c.is_resize_infeasible ? Amounts() : sum_of_specs();
  const auto& of_pod = c.pod_resources;
  if (of_pod && of_pod->requests && !of_pod->requests->empty() && of_pod->allocated_resources) {
    // The kubelet has already added them up.
    total.Max(Amounts(*of_pod->allocated_resources));
    total.Max(Amounts(*of_pod->requests));
  } else {
    total.Max(sum(false));
    total.Max(sum(true));
  }
  return total;
}

// Replaces the containers' requests by pod-level requests.
void ApplyPodLevel(const PodClass& c, const Options& options, Amounts& total) {
  if (c.sums_requests_by_source) {
    if (!HasPodLevelRequests(c)) return;
    // Without status.resources the allocated amounts are ignored.
    const bool has_status = options.use_status && c.pod_resources && c.pod_resources->requests;
    Amounts effective = has_status && c.is_resize_infeasible ? Amounts() : Amounts(c.spec.requests);
    if (has_status) effective.Max(Amounts(*c.pod_resources->requests));
    if (has_status && c.pod_resources->allocated_resources)
      effective.Max(Amounts(*c.pod_resources->allocated_resources));
    for (const auto& [name, amount] : effective.entries()) {
      if (IsPodLevelResource(name)) total.Set(name, amount);
    }
    return;
  }
  const bool has_status = options.use_status && c.pod_resources && c.pod_resources->requests;
  const Amounts effective =
      has_status ? EffectiveRequests(c, c.spec.requests, *c.pod_resources) : Amounts(c.spec.requests);
  for (const auto& [name, quantity] : c.spec.requests) {
    if (IsPodLevelResource(name)) total.Set(name, effective.Get(name));
  }
}

Amounts PodRequests(const PodClass& c, const Options& options) {
  Amounts total = c.sums_requests_by_source ? LargestOfSums(c, options) : SumOfLargest(c, options);
  if (options.use_pod_level) ApplyPodLevel(c, options, total);
  total.Add(Amounts(c.spec.overhead));
  return total;
}

Resource ToResource(const Amounts& amounts) {
  Resource resource;
  for (const auto& [name, nanos] : amounts.entries()) {
    if (name == resources::kCpu) {
      resource.cpu_milli = RoundAwayFromZero(nanos, kNanosPerMilli);
    } else if (name == resources::kMemory) {
      resource.memory_bytes = RoundAwayFromZero(nanos, kNanosPerUnit);
    } else if (name == resources::kEphemeralStorage) {
      resource.ephemeral_storage_bytes = RoundAwayFromZero(nanos, kNanosPerUnit);
    } else if (IsScalarResourceName(name)) {
      resource.scalars.emplace_back(name, RoundAwayFromZero(nanos, kNanosPerUnit));
    }
  }
  std::sort(resource.scalars.begin(), resource.scalars.end());
  return resource;
}

void AddHostPorts(const api::Container& container, std::vector<HostPort>& ports) {
  for (const api::ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    ports.push_back({port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol,
                     port.host_port});
  }
}

}  // namespace

void DerivePodClass(PodClass& pod_class) {
  PodClass& c = pod_class;
  const Amounts requests = PodRequests(c, {.use_status = true, .use_pod_level = true});
  c.requests = ToResource(requests);

  Options options{.use_status = true, .use_pod_level = true, .default_cpu = true, .default_memory = true};
  if (HasPodLevelRequests(c)) {
    // With pod-level requests the defaults apply only to resources that neither the pod nor a container names.
    options.default_cpu = requests.Find(resources::kCpu) == nullptr;
    options.default_memory = requests.Find(resources::kMemory) == nullptr;
  }
  const Amounts nonzero = PodRequests(c, options);
  c.nonzero_cpu_milli = RoundAwayFromZero(nonzero.Get(resources::kCpu), kNanosPerMilli);
  c.nonzero_memory_bytes = RoundAwayFromZero(nonzero.Get(resources::kMemory), kNanosPerUnit);

  c.host_ports.clear();
  for (const api::Container& container : c.spec.init_containers) {
    if (container.restart_always) AddHostPorts(container, c.host_ports);
  }
  for (const api::Container& container : c.spec.containers) AddHostPorts(container, c.host_ports);
}

Resource PodRequestsFromSpec(const PodClass& pod_class) {
  if (!HasStatus(pod_class)) return pod_class.requests;
  return ToResource(PodRequests(pod_class, {.use_pod_level = true}));
}

std::int64_t PodRequestForScoring(const PodClass& pod_class, std::string_view resource, PodAmounts amounts) {
  const bool with_defaults = amounts != PodAmounts::kActual;
  // For most pods both ways agree with the class.
  if (!HasStatus(pod_class) && pod_class.spec.requests.empty()) {
    if (resource == resources::kCpu) return with_defaults ? pod_class.nonzero_cpu_milli : pod_class.requests.cpu_milli;
    if (resource == resources::kMemory)
      return with_defaults ? pod_class.nonzero_memory_bytes : pod_class.requests.memory_bytes;
    if (resource == resources::kEphemeralStorage) return pod_class.requests.ephemeral_storage_bytes;
  }
  const bool is_effective = amounts != PodAmounts::kNonzeroOfContainers;
  const Options options{.use_status = is_effective,
                        .use_pod_level = is_effective,
                        .default_cpu = with_defaults,
                        .default_memory = with_defaults};
  return RoundAwayFromZero(PodRequests(pod_class, options).Get(resource),
                           resource == resources::kCpu ? kNanosPerMilli : kNanosPerUnit);
}

bool IsExtendedResourceName(std::string_view name) {
  constexpr std::string_view kQuotaPrefix = "requests.";
  if (name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos ||
      name.starts_with(kQuotaPrefix)) {
    return false;
  }
  // As in upstream, the name must also be valid with the prefix that quotas use.
  return api::IsQualifiedName(std::string(kQuotaPrefix).append(name));
}

bool IsScalarResourceName(std::string_view name) {
  return IsExtendedResourceName(name) || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

}  // namespace berth::framework
