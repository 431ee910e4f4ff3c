// SPDX-License-Identifier: Apache-2.0
// PageGuard: who may read a page that is served on loopback, where every program of the machine and every web site in
// its browsers can knock: whoever has the printed link, whose key is good for one browser. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::page {

class PageGuard {
 public:
  // `key` is in the link, `session` in the cookie of whoever came with it. Both are secrets that nobody can guess.
  // `address` is that of the server: "127.0.0.1:8400".
  PageGuard(std::string key, std::string session, std::string_view address);

  // The answer to who may not read, or who comes with the key; nullopt: let it through.
  std::optional<net::Response> Check(const net::Request& request, const net::Target& target);

  // "http://127.0.0.1:8400/ui/?key=..."
  std::string Link() const;

 private:
  bool HasCookie(const net::Request& request) const;

  const std::string key_;
  const std::string session_;
  const std::string address_;
  const std::string cookie_name_;
  std::vector<std::string> hosts_;  // as Host may name the server
  std::mutex mutex_;
  bool is_key_used_ = false;  // guarded by mutex_
};

}  // namespace berth::page
