// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/transport.h"

#include "berth/shell/net/url.h"

namespace berth::net {

namespace {

std::string_view FirstOf(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace

std::string_view Request::Get(std::string_view name) const { return FirstOf(headers, name); }

std::string_view Response::Get(std::string_view name) const { return FirstOf(headers, name); }

}  // namespace berth::net
