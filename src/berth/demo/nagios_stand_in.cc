// SPDX-License-Identifier: Apache-2.0
#include "berth/demo/nagios_stand_in.h"

#include <utility>
#include <variant>

#include "berth/codec/json.h"
#include "berth/plugins/names.h"

namespace berth::demo {
namespace {

using codec::json::object;

// Nagios 4's numbers for the state of a host.
constexpr int kHostUp = 2;
constexpr int kHostDown = 4;

std::string HostList(const std::vector<DemoNode>& nodes, bool has_names, Time now) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  object hosts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = "node-" + std::to_string(i + 1);
    object host{{"name", name},
                {"plugin_output", nodes[i].nagios_output},
                {"long_plugin_output", ""},
                {"last_update", milliseconds},
                {"last_check", milliseconds},
                {"has_been_checked", true},
                {"checks_enabled", true},
                {"state_type", has_names ? codec::json::value("hard") : codec::json::value(1)}};
    if (has_names) {
      host["status"] = nodes[i].is_down ? "down" : "up";
    } else {
      host["status"] = nodes[i].is_down ? kHostDown : kHostUp;
    }
    hosts[name] = std::move(host);
  }
  return codec::WriteJson(object{{"format_version", 0},
                                 {"result", object{{"query_time", milliseconds},
                                                   {"cgi", "statusjson.cgi"},
                                                   {"query", "hostlist"},
                                                   {"query_status", "released"},
                                                   {"program_start", milliseconds},
                                                   {"last_data_update", milliseconds},
                                                   {"type_code", 0},
                                                   {"type_text", "Success"},
                                                   {"message", ""}}},
                                 {"data", object{{"selectors", object{}}, {"hostlist", std::move(hosts)}}}});
}

// All of the URL but its scheme and host.
std::string PathOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t path = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return path == std::string_view::npos ? "/" : std::string(url.substr(path));
}

}  // namespace

Expected<std::unique_ptr<NagiosStandIn>> NagiosStandIn::Start(const std::vector<DemoNode>& nodes, const Clock& clock) {
  std::unique_ptr<NagiosStandIn> nagios(new NagiosStandIn());
  BERTH_ASSIGN_OR_RETURN(
      nagios->server_,
      net::StartHttpServer(
          nagios->io_, {},
          [nodes, &clock](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& to) {
            const bool has_names = request.target.find("enumerate") != std::string::npos;
            to->Send({200, {{"Content-Type", "application/json"}}, HostList(nodes, has_names, clock.Now())});
          }));
  return nagios;
}

Expected<config::KubeSchedulerConfiguration> AskStandIn(config::KubeSchedulerConfiguration configuration,
                                                        const std::string& url) {
  for (config::Profile& profile : configuration.profiles) {
    for (config::PluginConfig& plugin : profile.plugin_config) {
      auto* raw = std::get_if<config::RawArgs>(&plugin.args);
      if (plugin.name != plugins::names::kExternalHealth || raw == nullptr) continue;
      BERTH_ASSIGN_OR_RETURN(codec::json::value args, codec::ParseJson(raw->json));
      if (!args.is_object()) continue;
      codec::json::object& fields = args.as_object();
      if (const auto* old = fields.if_contains("url"); old != nullptr && old->is_string())
        fields["url"] = url + PathOf(std::string_view(old->as_string().data(), old->as_string().size()));
      raw->json = codec::WriteJson(args);
    }
  }
  return configuration;
}

}  // namespace berth::demo
