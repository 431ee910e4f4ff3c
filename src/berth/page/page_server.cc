// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_server.h"

#include <future>
#include <utility>

#include "berth/base/text.h"
#include "berth/shell/net/url.h"

namespace berth::page {
namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";

}  // namespace

std::string NotLoopback(std::string_view address) {
  const auto split = net::SplitHostPort(address);
  if (!split.ok()) return split.error().message;
  const std::string& host = split->first;
  if (host == "localhost" || host == "::1" || (host.starts_with("127.") && net::IsIpAddress(host))) return "";
  return Quoted(address) + " should be an address of loopback, as 127.0.0.1:8400: the page is for this machine";
}

Expected<std::unique_ptr<PageServer>> PageServer::Start(PageServerOptions options, PageService& service) {
  if (const std::string wrong = NotLoopback(options.listen); !wrong.empty()) return InvalidError(wrong);
  std::unique_ptr<PageServer> page(new PageServer(service));
  net::HttpServerOptions http;
  http.listen = options.listen;
  http.connections_max = kConnectionsMax;
  http.ends_silent_connections = true;
  http.request_body_bytes_max = PageService::kBodyBytesMax;
  http.stream_buffer_bytes_max = std::size_t{8} << 20;
  http.malformed = [](int status, std::string_view message) {
    return net::Response{status, {{"Content-Type", std::string(kText)}}, std::string(message) + "\n"};
  };
  // The guard, which knows the port, is there before the first request is handled: that is on this loop.
  std::promise<Expected<void>> started;
  page->io_.Post([&] {
    auto server = net::StartHttpServer(
        page->io_, std::move(http),
        [to = page.get()](net::Request request, const std::shared_ptr<net::ResponseWriter>& writer) {
          to->Handle(std::move(request), writer);
        });
    if (server.ok()) {
      page->guard_ = std::make_unique<PageGuard>(options.key, options.session, (*server)->address());
      page->server_ = *std::move(server);
      started.set_value({});
    } else {
      started.set_value(server.error());
    }
  });
  BERTH_RETURN_IF_ERROR(started.get_future().get());
  return page;
}

PageServer::~PageServer() {
  server_.reset();
  io_.Stop();
}

void PageServer::Handle(net::Request request, const std::shared_ptr<net::ResponseWriter>& writer) {
  const auto target = net::ParseTarget(request.target);
  const auto path = target.ok() ? net::PercentDecode(target->path, false) : Expected<std::string>(target.error());
  if (!path.ok()) return writer->Send({400, {{"Content-Type", std::string(kText)}}, path.error().message + "\n"});
  if (auto answer = guard_->Check(request, *target)) return writer->Send(*std::move(answer));
  if (*path == "/") {
    net::Response to;
    to.status = 302;
    to.headers.push_back({"Location", "/ui/"});
    return writer->Send(std::move(to));
  }
  if (*path == "/ui" || path->starts_with("/ui/")) return service_.Handle(std::move(request), *target, *path, writer);
  writer->Send({404, {{"Content-Type", std::string(kText)}}, "The page is at /ui/.\n"});
}

}  // namespace berth::page
