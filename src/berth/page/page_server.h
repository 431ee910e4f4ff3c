// SPDX-License-Identifier: Apache-2.0
// PageServer: the page on a port of its own on loopback, for whoever has the printed link (page_guard.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/page/page_guard.h"
#include "berth/page/page_service.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::page {

struct PageServerOptions {
  std::string listen = "127.0.0.1:0";
  // Secrets: see PageGuard.
  std::string key;
  std::string session;
};

class PageServer {
 public:
  static constexpr int kConnectionsMax = 128;

  // `service` must outlive it. kInvalid: the address is not one of loopback.
  static Expected<std::unique_ptr<PageServer>> Start(PageServerOptions options, PageService& service);
  ~PageServer();

  std::string Link() const { return guard_->Link(); }

 private:
  explicit PageServer(PageService& service) : service_(service) {}
  void Handle(net::Request request, const std::shared_ptr<net::ResponseWriter>& writer);

  PageService& service_;
  net::IoContext io_;
  std::unique_ptr<PageGuard> guard_;
  std::unique_ptr<net::HttpServer> server_;
};

// "" where `address` is a port of loopback, else what is wrong with it.
std::string NotLoopback(std::string_view address);

}  // namespace berth::page
