// SPDX-License-Identifier: Apache-2.0
// OwnPage: the page of a scheduler that is in this process: that of `berth demo --serve` and `berth cluster` on
// loopback, and that of `berth run` on the secure port.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/page/decision_feed.h"
#include "berth/page/page_server.h"
#include "berth/page/page_service.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {

struct OwnPageOptions {
  config::KubeSchedulerConfiguration configuration;  // that the scheduler has
  std::string configuration_file;                    // empty: none; plugins' files are beside it
  config::KnownPlugins plugins;
  std::string source;      // the API server's address
  std::string kubernetes;  // its version
  std::uint64_t seed = 0;
  MetricRegistry* metrics = nullptr;  // outlives the page; null: it shows no numbers of the process
  // See page::CoreSources.
  std::function<std::optional<std::string>()> why_not{};
  std::vector<std::string> not_asked{};
};

// What feeds the page with decisions (ShellOptions::on_decision), before there is a page.
std::function<void(const scheduler::Decision&)> FeedPage(page::DecisionFeed& feed, const Clock& clock);

// `rest`, `shell`, `feed` and `clock` must outlive it.
std::unique_ptr<page::PageService> MakeOwnPage(OwnPageOptions options, client::RestClient& rest,
                                               runner::SchedulerShell& shell, page::DecisionFeed& feed,
                                               const Clock& clock);

// On a free port of loopback, or where `listen` says. `service` must outlive it.
Expected<std::unique_ptr<page::PageServer>> ServePage(page::PageService& service, const std::string& listen);

// What is printed of the link.
std::string PageLine(const page::PageServer& server);

}  // namespace berth::app
