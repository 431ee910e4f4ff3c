// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_guard.h"

#include <algorithm>
#include <utility>

#include "berth/base/text.h"

namespace berth::page {
namespace {

// Takes as long whatever the first difference is.
bool AreEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

net::Response Refused(std::string_view why) {
  return {403, {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}}, std::string(why) + "\n"};
}

std::string PortOf(std::string_view address) { return std::string(address.substr(address.rfind(':') + 1)); }

}  // namespace

PageGuard::PageGuard(std::string key, std::string session, std::string_view address)
    : key_(std::move(key)),
      session_(std::move(session)),
      address_(address),
      cookie_name_("berth-ui-" + PortOf(address)),
      hosts_{std::string(address), "localhost:" + PortOf(address), "127.0.0.1:" + PortOf(address),
             "[::1]:" + PortOf(address)} {}

std::optional<net::Response> PageGuard::Check(const net::Request& request, const net::Target& target) {
  // A name that a web site has pointed at this machine is no name of this server.
  const std::string_view host = request.Get("Host");
  if (std::ranges::find(hosts_, host) == hosts_.end())
    return Refused("This server is for " + address_ + " and localhost alone.");
  const std::string_view origin = request.Get("Origin");
  if (!origin.empty() && origin != "http://" + std::string(host))
    return Refused("Requests of other web sites are refused.");
  const bool has_cookie = HasCookie(request);
  const std::string_view key = target.Query("key");
  if (key.empty() || request.method != "GET") {
    if (has_cookie) return std::nullopt;
    return Refused("Open the link that berth has printed; it has the key.");
  }
  if (!AreEqual(key, key_))
    return Refused("This is not the key of this server: berth prints another one at each start.");
  if (!has_cookie) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_key_used_, true))
      return Refused("This link has been used. It works once: start berth again for another one.");
  }
  // No redirect: after one, a browser that came from another site would not send the cookie.
  net::Response response{200, {{"Content-Type", "text/html; charset=utf-8"}, {"Cache-Control", "no-store"}}, ""};
  response.headers.push_back({"Set-Cookie", cookie_name_ + "=" + session_ + "; Path=/ui/; HttpOnly; SameSite=Strict"});
  response.headers.push_back({"Referrer-Policy", "no-referrer"});
  response.headers.push_back({"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"});
  response.body =
      "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=/ui/\">"
      "<title>berth</title><a href=\"/ui/\">berth</a>\n";
  return response;
}

std::string PageGuard::Link() const { return "http://" + address_ + "/ui/?key=" + key_; }

bool PageGuard::HasCookie(const net::Request& request) const {
  for (const net::Header& header : request.headers) {
    if (!net::EqualsIgnoreCase(header.name, "Cookie")) continue;
    for (const std::string_view part : Split(header.value, ';')) {
      const std::string_view pair = Trim(part);
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == cookie_name_ &&
          AreEqual(pair.substr(equals + 1), session_))
        return true;
    }
  }
  return false;
}

}  // namespace berth::page
