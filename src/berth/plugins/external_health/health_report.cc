// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/external_health/health_report.h"

#include <algorithm>
#include <utility>

#include "berth/codec/json_reader.h"
#include "berth/plugins/helper/outside_source.h"

namespace berth::plugins {
namespace {

using simdjson::dom::element;

constexpr codec::ReadLimits kLimits{std::size_t{64} << 20, 64};

void Add(HealthReport& report, std::string_view name, HostHealth health, std::string_view words) {
  HostWord word{health, health == HostHealth::kBad ? Printable(words, kWordsBytesMax) : std::string()};
  const auto [known, is_new] = report.hosts.try_emplace(std::string(name), word);
  if (is_new || known->second.health == HostHealth::kBad) return;
  if (health != HostHealth::kGood) known->second = std::move(word);
}

// The host's state, which the CGI gives as a number or, with formatoptions=enumerate, as a word.
std::optional<HostHealth> NagiosHealth(element host) {
  constexpr std::int64_t kPending = 1, kUp = 2, kDown = 4, kUnreachable = 8;
  const std::string_view word = codec::StringOrEmpty(host, "status");
  const std::int64_t number = codec::FindInt(host, "status").value_or(0);
  if (word == "up" || number == kUp) return HostHealth::kGood;
  if (word == "down" || word == "unreachable" || number == kDown || number == kUnreachable) return HostHealth::kBad;
  if (word == "pending" || number == kPending) return HostHealth::kUnknown;
  return std::nullopt;
}

std::string NagiosWords(element host) {
  const std::string_view output = codec::StringOrEmpty(host, "plugin_output");
  if (!output.empty()) return std::string(output);
  const bool is_unreachable =
      codec::StringOrEmpty(host, "status") == "unreachable" || codec::FindInt(host, "status").value_or(0) == 8;
  return is_unreachable ? "unreachable" : "down";
}

std::optional<element> At(element from, std::string_view path) {
  std::optional<element> at = from;
  while (at && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = codec::FindMember(*at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

// A text, number or truth value as text; nullopt for what is none.
std::optional<std::string> TextOf(std::optional<element> value) {
  if (!value) return std::nullopt;
  if (std::string_view text; value->get(text) == simdjson::SUCCESS) return std::string(text);
  if (bool truth = false; value->get(truth) == simdjson::SUCCESS) return truth ? "true" : "false";
  if (std::int64_t whole = 0; value->get(whole) == simdjson::SUCCESS) return std::to_string(whole);
  if (value->is_number()) return simdjson::minify(*value);
  return std::nullopt;
}

void AddItem(HealthReport& report, std::string_view key, element item, const JsonFormat& format) {
  const auto named = TextOf(At(item, format.name));
  const std::string name = named && !format.name.empty() ? *named : std::string(key);
  const auto state = TextOf(At(item, format.state));
  if (name.empty() || !state) {
    ++report.unreadable;
    return;
  }
  const bool is_good =
      std::find(format.good_states.begin(), format.good_states.end(), *state) != format.good_states.end();
  const auto reason = format.reason.empty() ? std::nullopt : TextOf(At(item, format.reason));
  Add(report, name, is_good ? HostHealth::kGood : HostHealth::kBad, reason && !reason->empty() ? *reason : *state);
}

}  // namespace

Expected<HealthReport> ParseNagios(std::string_view body) {
  codec::JsonReader reader(kLimits);
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  const auto result = codec::FindMember(root, "result");
  // An answer with status 200 may say that there is none.
  if (result && codec::FindInt(*result, "type_code").value_or(0) != 0) {
    return InvalidError("Nagios refused the query: " + Printable(codec::StringOrEmpty(*result, "message"), 200));
  }
  const auto list = codec::FindPath(root, {"data", "hostlist"});
  simdjson::dom::object hosts;
  if (!list || list->get(hosts) != simdjson::SUCCESS)
    return InvalidError("no host list of Nagios: it has no data.hostlist");
  HealthReport report;
  // The CGI answers from a file, also when the daemon that writes it is long dead. In milliseconds.
  if (const auto updated = result ? codec::FindInt(*result, "last_data_update") : std::nullopt;
      updated && *updated > 0) {
    constexpr std::int64_t kMillisMax = 253402300800000;
    report.as_of = Time(std::chrono::milliseconds(std::min(*updated, kMillisMax)));
  }
  for (const auto& [name, host] : hosts) {
    const auto health = NagiosHealth(host);
    if (!health || name.empty()) {
      ++report.unreadable;
      continue;
    }
    Add(report, name, *health, *health == HostHealth::kBad ? NagiosWords(host) : std::string());
  }
  return report;
}

Expected<HealthReport> ParseAlertmanager(std::string_view body, const AlertmanagerFormat& format) {
  codec::JsonReader reader(kLimits);
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  simdjson::dom::array alerts;
  if (root.get(alerts) != simdjson::SUCCESS) return InvalidError("no list of alerts");
  HealthReport report;
  report.names_bad_hosts_only = true;
  for (const element alert : alerts) {
    const auto labels = codec::FindMember(alert, "labels");
    if (!labels) {
      ++report.unreadable;
      continue;
    }
    const std::string_view name = WithoutPort(codec::StringOrEmpty(*labels, format.node_label));
    const std::string_view severity = codec::StringOrEmpty(*labels, "severity");
    const auto& wanted = format.severities;
    if (name.empty() || (!wanted.empty() && std::find(wanted.begin(), wanted.end(), severity) == wanted.end()))
      continue;
    std::string words(codec::StringOrEmpty(*labels, "alertname"));
    const auto annotations = codec::FindMember(alert, "annotations");
    std::string_view text = annotations ? codec::StringOrEmpty(*annotations, "summary") : std::string_view();
    if (text.empty() && annotations) text = codec::StringOrEmpty(*annotations, "description");
    if (!text.empty()) words += (words.empty() ? "" : ": ") + std::string(text);
    Add(report, name, HostHealth::kBad, words.empty() ? "an alert without a name" : words);
  }
  return report;
}

Expected<HealthReport> ParseJsonHealth(std::string_view body, const JsonFormat& format) {
  codec::JsonReader reader(kLimits);
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  const auto items = At(root, format.items);
  HealthReport report;
  simdjson::dom::array list;
  simdjson::dom::object named;
  if (items && items->get(list) == simdjson::SUCCESS) {
    for (const element item : list) AddItem(report, "", item, format);
  } else if (items && items->get(named) == simdjson::SUCCESS) {
    for (const auto& [key, item] : named) AddItem(report, key, item, format);
  } else {
    return InvalidError("no list and no object at \"" + format.items + "\"");
  }
  return report;
}

}  // namespace berth::plugins
