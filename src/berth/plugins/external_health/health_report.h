// SPDX-License-Identifier: Apache-2.0
// What outside systems say about hosts: Nagios, Alertmanager, or any JSON with a mapping. Plain functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/outside_data.h"

namespace berth::plugins {

enum class HostHealth : std::uint8_t { kGood, kBad, kUnknown };

struct HostWord {
  HostHealth health = HostHealth::kGood;
  std::string words;  // of a bad host: the source's own, printable
  bool operator==(const HostWord&) const = default;
};

struct HealthReport final : framework::OutsideData {
  StringHashMap<HostWord> hosts;  // by the name that the source knows; of several words about one host a bad one counts
  std::optional<Time> as_of;      // when the source itself learned it; absent: it does not say
  bool names_bad_hosts_only = false;
  std::size_t unreadable = 0;  // items without a name or a state
};

inline constexpr std::size_t kWordsBytesMax = 160;

// The answer of statusjson.cgi?query=hostlist&details=true: "up" is good, "down" and "unreachable" are bad, "pending"
// (not checked yet) is unknown.
Expected<HealthReport> ParseNagios(std::string_view body);

struct AlertmanagerFormat {
  std::string node_label = "instance";  // names the host; a port behind it is cut
  std::vector<std::string> severities;  // of the label "severity"; empty: all
};
// The answer of /api/v2/alerts: a host with an active alert is bad. Alerts without the label are about no host.
Expected<HealthReport> ParseAlertmanager(std::string_view body, const AlertmanagerFormat& format);

struct JsonFormat {
  // Paths are keys with dots between them. Items are a list, or an object whose keys are the hosts' names; an empty
  // path is the document itself.
  std::string items;
  std::string name = "name";
  std::string state = "state";
  std::vector<std::string> good_states;  // as text: "ok", "true", "0"
  std::string reason;                    // empty: the state is all there is to say
};
Expected<HealthReport> ParseJsonHealth(std::string_view body, const JsonFormat& format);

}  // namespace berth::plugins
