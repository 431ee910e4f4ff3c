// SPDX-License-Identifier: Apache-2.0
// PageOnDemand: the page of a process in which most never ask for it. Until somebody does there is no watch, no thread
// and no connection, and when nobody has asked for a while they are gone again. The page's files, which hold no data,
// are served without them. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/page/page_service.h"
#include "berth/page/static_files.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/url.h"

namespace berth::page {

class PageOnDemand {
 public:
  // Nobody has read anything for so long: the page is closed.
  static constexpr Duration kUnusedMax = std::chrono::minutes(2);

  // What a page is made of. `service` has not started; it is stopped before `connection` is destroyed.
  struct Opened {
    std::shared_ptr<void> connection;
    std::unique_ptr<PageService> service;
  };
  using Open = std::function<Expected<Opened>()>;

  // `open` is called in Handle(), so it must not block. `clock` must outlive it.
  PageOnDemand(Open open, const Clock& clock) : open_(std::move(open)), clock_(clock) {}
  ~PageOnDemand() { Stop(); }

  // As PageService::Handle().
  void Handle(net::Request request, const net::Target& target, const std::string& path,
              const std::shared_ptr<net::ResponseWriter>& writer);
  // To be called now and then, where one may wait for threads to end. True: it has closed the page.
  bool CloseIfUnused();
  // Closes the page for good.
  void Stop();
  bool IsOpen() const;

 private:
  const Open open_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<StaticFiles> files_;
  std::optional<Opened> opened_;
  Time used_at_{};
  bool is_stopped_ = false;
};

}  // namespace berth::page
