#include "berth/net/transport.h"

#include "berth/net/url.h"

namespace berth::net {

std::string_view Response::Get(std::string_view name) const {
  for (const Header& header : headers) {
    if (EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace berth::net
