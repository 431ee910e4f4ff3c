// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/external_health/external_health_args.h"

#include <string>
#include <utility>

#include "berth/plugins/helper/outside_source.h"
#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using Fallback = ExternalHealthArgs::Fallback;
using Source = ExternalHealthArgs::Source;

void ReadFallback(config::ObjectReader& reader, std::string_view key, Fallback& fallback) {
  std::string text = "open";
  reader.Read(key, text);
  if (text != "open" && text != "closed") reader.errors().NotSupported(reader.PathOf(key), text, {"open", "closed"});
  fallback = text == "closed" ? Fallback::kClosed : Fallback::kOpen;
}

void ReadSource(config::ObjectReader& reader, ExternalHealthArgs& args) {
  std::string source;
  reader.Read("source", source);
  if (source == "nagios") {
    args.source = Source::kNagios;
  } else if (source == "alertmanager") {
    args.source = Source::kAlertmanager;
  } else if (source.empty()) {
    reader.errors().Required(reader.PathOf("source"));
  } else if (source != "json") {
    reader.errors().NotSupported(reader.PathOf("source"), source, {"nagios", "alertmanager", "json"});
  }
  args.source_name = source;
}

void ReadFormats(config::ObjectReader& reader, ExternalHealthArgs& args) {
  reader.Object("alertmanager", [&](config::ObjectReader& format) {
    if (args.source != Source::kAlertmanager)
      reader.errors().Forbidden(reader.PathOf("alertmanager"), "only with source \"alertmanager\"");
    format.Read("nodeLabel", args.alertmanager.node_label);
    format.Read("severities", args.alertmanager.severities);
    if (args.alertmanager.node_label.empty()) format.errors().Required(format.PathOf("nodeLabel"));
  });
  bool has_json = false;
  reader.Object("json", [&](config::ObjectReader& format) {
    has_json = true;
    if (args.source != Source::kJson) reader.errors().Forbidden(reader.PathOf("json"), "only with source \"json\"");
    format.Read("items", args.json.items);
    format.Read("name", args.json.name);
    format.Read("state", args.json.state);
    format.Read("goodStates", args.json.good_states);
    format.Read("reason", args.json.reason);
    if (args.json.good_states.empty()) format.errors().Required(format.PathOf("goodStates"));
  });
  if (args.source_name == "json" && !has_json) reader.errors().Required(reader.PathOf("json"));
}

void ReadArgs(config::ObjectReader& reader, ExternalHealthArgs& args) {
  ReadSource(reader, args);
  ReadEndpoint(reader, args.endpoint);
  ReadPolling(reader, args.endpoint);
  ReadFormats(reader, args);
  reader.Object("nodeNameFrom", [&](config::ObjectReader& from) {
    from.Read("label", args.name_label);
    from.Read("annotation", args.name_annotation);
    if (args.name_label.empty() == args.name_annotation.empty())
      from.errors().Add(reader.PathOf("nodeNameFrom"), "Invalid value: must name a label or an annotation");
  });
  ReadDuration(reader, "staleAfter", std::chrono::seconds(1), args.stale_after);
  ReadFallback(reader, "onStale", args.on_stale);
  ReadFallback(reader, "onUnknown", args.on_unknown);
}

}  // namespace

Expected<ExternalHealthArgs> ReadExternalHealthArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<ExternalHealthArgs>(names::kExternalHealth, args, ReadArgs);
}

}  // namespace berth::plugins
