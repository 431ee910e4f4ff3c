// SPDX-License-Identifier: Apache-2.0
// NagiosStandIn: answers as Nagios' JSON CGI does when it is asked for its hosts. For the demo.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/types.h"
#include "berth/demo/policy_scenarios.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::demo {

class NagiosStandIn {
 public:
  // Serves at a free port of 127.0.0.1; nodes[i] is the host node-(i+1).
  static Expected<std::unique_ptr<NagiosStandIn>> Start(const std::vector<DemoNode>& nodes, const Clock& clock);

  // "http://127.0.0.1:4711".
  std::string url() const { return "http://" + server_->address(); }

 private:
  NagiosStandIn() = default;

  net::IoContext io_;
  std::unique_ptr<net::HttpServer> server_;
};

// The configuration with the ExternalHealth plugins' URLs led to `url`: their paths and queries stay.
Expected<config::KubeSchedulerConfiguration> AskStandIn(config::KubeSchedulerConfiguration configuration,
                                                        const std::string& url);

}  // namespace berth::demo
