// SPDX-License-Identifier: Apache-2.0
// `extenders` of a KubeSchedulerConfiguration: HTTP services that take part in scheduling (docs/plugins/extenders.md).
// Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::config {

class FieldErrors;
class ObjectReader;
struct Profile;

struct ExtenderTls {
  bool insecure = false;
  std::string server_name;
  std::string cert_file;
  std::string key_file;
  std::string ca_file;
  // PEM in base64, as in the file; each takes precedence over the file of the same name.
  std::string cert_data;
  std::string key_data;
  std::string ca_data;
  bool operator==(const ExtenderTls&) const = default;
};

struct ManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
  bool operator==(const ManagedResource&) const = default;
};

struct Extender {
  static constexpr Duration kDefaultTimeout = std::chrono::seconds(5);

  std::string url_prefix;
  // With an empty verb the extender is not asked.
  std::string filter_verb;
  std::string preempt_verb;
  std::string prioritize_verb;
  std::string bind_verb;
  std::int64_t weight = 0;
  bool enable_https = false;
  std::optional<ExtenderTls> tls;
  Duration http_timeout = kDefaultTimeout;
  bool node_cache_capable = false;
  std::vector<ManagedResource> managed_resources;
  bool ignorable = false;
  bool operator==(const Extender&) const = default;

  // "URL/verb".
  std::string UrlOf(std::string_view verb) const;
  // Whether it filters or prioritizes nodes.
  bool JudgesNodes() const { return !filter_verb.empty() || !prioritize_verb.empty(); }
  // Whether nodes are sent to it as whole objects instead of names.
  bool GetsWholeNodes() const { return JudgesNodes() && !node_cache_capable; }
  // Whether scheduling cycles ask it.
  bool IsAskedInCycles() const { return JudgesNodes() || !preempt_verb.empty(); }
  // Whether it is asked about this pod: about all pods, or about pods with a container that requests one of its
  // resources. Upstream also looks at limits; the API server turns each limit into a request if the pod has none.
  bool IsInterested(const api::PodSpec& pod) const;
};

// Reads the field `extenders`.
void ReadExtenders(ObjectReader& reader, std::vector<Extender>& out);

// Upstream's checks in its words, and checks for what berth does not support.
void CheckExtenders(FieldErrors& errors, std::span<const Extender> extenders);

// In call order: ignorable extenders after the others.
std::vector<Extender> InCallOrder(const std::vector<Extender>& extenders);

// Makes NodeResourcesFit's ignoredResources in each profile the resources that extenders want the scheduler to ignore.
// As upstream, fails if a profile has no arguments for that plugin.
Expected<void> IgnoreResources(std::span<const Extender> extenders, std::vector<Profile>& profiles);

}  // namespace berth::config
