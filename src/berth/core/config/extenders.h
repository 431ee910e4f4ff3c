// SPDX-License-Identifier: Apache-2.0
// `extenders` of a KubeSchedulerConfiguration: HTTP services that have a say in scheduling (docs/plugins/extenders.md).
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
  // PEM in base64, as the file has it; each counts before its file.
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
  // A verb that is empty: the extender is not asked.
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
  // Whether it has a say about nodes: it filters or prioritizes.
  bool JudgesNodes() const { return !filter_verb.empty() || !prioritize_verb.empty(); }
  // Whether the nodes that it judges are sent to it as whole objects, and not by name.
  bool GetsWholeNodes() const { return JudgesNodes() && !node_cache_capable; }
  // Whether scheduling cycles ask it.
  bool IsAskedInCycles() const { return JudgesNodes() || !preempt_verb.empty(); }
  // Whether it is asked about such pods: all, or those with a container that asks for one of its resources. Upstream
  // looks at limits as well; the API server makes each limit a request where the pod has none.
  bool IsInterested(const api::PodSpec& pod) const;
};

// Reads the field `extenders`.
void ReadExtenders(ObjectReader& reader, std::vector<Extender>& out);

// Upstream's checks, in its words, and what berth cannot do.
void CheckExtenders(FieldErrors& errors, std::span<const Extender> extenders);

// In the order in which they are asked: those that may be ignored after the others.
std::vector<Extender> InCallOrder(const std::vector<Extender>& extenders);

// The resources that extenders want the scheduler to ignore replace NodeResourcesFit's own ignoredResources, in each
// profile. As upstream fails where a profile has no arguments of that plugin.
Expected<void> IgnoreResources(std::span<const Extender> extenders, std::vector<Profile>& profiles);

}  // namespace berth::config
