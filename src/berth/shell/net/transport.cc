// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/transport.h"

#include "berth/shell/net/url.h"

namespace berth::net {

std::string_view Response::Get(std::string_view name) const {
  for (const Header& header : headers) {
    if (EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace berth::net
