// SPDX-License-Identifier: Apache-2.0
// IP addresses and CIDRs like k8s.io/apiserver/pkg/cel/library with Go's net/netip.
#include "berth/languages/cel/functions_net.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "berth/base/go_text.h"

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;

Error ParseAddrError(std::string_view text, std::string_view why, std::string_view at = {}) {
  std::string message = "ParseAddr(" + GoQuoted(text) + "): " + std::string(why);
  if (!at.empty()) message += " (at " + GoQuoted(at) + ")";
  return InvalidError(std::move(message));
}

Expected<IpAddress> ParseV4(std::string_view whole, std::string_view text, std::uint8_t* bytes) {
  int value = 0;
  int position = 0;
  int digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return ParseAddrError(whole, "IPv4 field has octet with leading zero");
      value = value * 10 + (c - '0');
      ++digits;
      if (value > 255) return ParseAddrError(whole, "IPv4 field has value >255");
    } else if (c == '.') {
      if (i == 0 || i == text.size() - 1 || text[i - 1] == '.') {
        return ParseAddrError(whole, "IPv4 field must have at least one digit", text.substr(i));
      }
      if (position == 3) return ParseAddrError(whole, "IPv4 address too long");
      bytes[position++] = static_cast<std::uint8_t>(value);
      value = 0;
      digits = 0;
    } else {
      return ParseAddrError(whole, "unexpected character", text.substr(i));
    }
  }
  if (position < 3) return ParseAddrError(whole, "IPv4 address too short");
  bytes[3] = static_cast<std::uint8_t>(value);
  IpAddress address;
  address.is_v4 = true;
  std::copy_n(bytes, 4, address.bytes.begin());
  return address;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Expected<IpAddress> ParseV6(std::string_view whole, std::string_view& zone) {
  std::string_view text = whole;
  if (const std::size_t at = text.find('%'); at != std::string_view::npos) {
    zone = text.substr(at + 1);
    text = text.substr(0, at);
    if (zone.empty()) return ParseAddrError(whole, "zone must be a non-empty string");
  }
  IpAddress address;
  int ellipsis = -1;
  if (text.starts_with("::")) {
    ellipsis = 0;
    text.remove_prefix(2);
    if (text.empty()) return address;
  }
  int i = 0;
  while (i < 16) {
    std::size_t off = 0;
    std::uint32_t acc = 0;
    for (; off < text.size(); ++off) {
      const int digit = HexValue(text[off]);
      if (digit < 0) break;
      if (off > 3) return ParseAddrError(whole, "each group must have 4 or less digits", text);
      acc = acc * 16 + static_cast<std::uint32_t>(digit);
    }
    if (off == 0) return ParseAddrError(whole, "each colon-separated field must have at least one digit", text);
    if (off < text.size() && text[off] == '.') {
      if (ellipsis < 0 && i != 12)
        return ParseAddrError(whole, "embedded IPv4 address must replace the final 2 fields of the address", text);
      if (i + 4 > 16)
        return ParseAddrError(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", text);
      BERTH_ASSIGN_OR_RETURN(const IpAddress embedded,
                             ParseV4(whole, text, &address.bytes[static_cast<std::size_t>(i)]));
      static_cast<void>(embedded);  // its bytes are stored already
      text = {};
      i += 4;
      break;
    }
    address.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(acc >> 8);
    address.bytes[static_cast<std::size_t>(i) + 1] = static_cast<std::uint8_t>(acc);
    i += 2;
    text.remove_prefix(off);
    if (text.empty()) break;
    if (text[0] != ':') return ParseAddrError(whole, "unexpected character, want colon", text);
    if (text.size() == 1) return ParseAddrError(whole, "colon must be followed by more characters", text);
    text.remove_prefix(1);
    if (text[0] == ':') {
      if (ellipsis >= 0) return ParseAddrError(whole, "multiple :: in address", text);
      ellipsis = i;
      text.remove_prefix(1);
      if (text.empty()) break;
    }
  }
  if (!text.empty()) return ParseAddrError(whole, "trailing garbage after address", text);
  if (i < 16) {
    if (ellipsis < 0) return ParseAddrError(whole, "address string too short");
    const auto begin = address.bytes.begin();
    std::move_backward(begin + ellipsis, begin + i, address.bytes.end());
    std::fill(begin + ellipsis, begin + ellipsis + (16 - i), std::uint8_t{0});
  } else if (ellipsis >= 0) {
    return ParseAddrError(whole, "the :: must expand to at least one field of zeros");
  }
  return address;
}

Expected<IpAddress> ParseAddr(std::string_view text, std::string_view& zone) {
  for (const char c : text) {
    if (c == '.') {
      std::array<std::uint8_t, 4> bytes{};
      return ParseV4(text, text, bytes.data());
    }
    if (c == ':') return ParseV6(text, zone);
    if (c == '%') return ParseAddrError(text, "missing IPv6 address");
  }
  return ParseAddrError(text, "unable to parse IP");
}

bool IsMapped(const IpAddress& address) {
  return !address.is_v4 &&
         std::all_of(address.bytes.begin(), address.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         address.bytes[10] == 0xff && address.bytes[11] == 0xff;
}

Expected<IpAddress> ReadIp(const std::string& text) {
  std::string_view zone;
  auto address = ParseAddr(text, zone);
  if (!address.ok()) {
    return InvalidError("IP Address " + GoQuoted(text) +
                        " parse error during conversion from string: " + address.error().message);
  }
  if (!zone.empty()) return InvalidError("IP address " + GoQuoted(text) + " with zone value is not allowed");
  if (IsMapped(*address)) return InvalidError("IPv4-mapped IPv6 address " + GoQuoted(text) + " is not allowed");
  return address;
}

std::string ShowV4(const std::uint8_t* bytes) {
  return std::to_string(bytes[0]) + "." + std::to_string(bytes[1]) + "." + std::to_string(bytes[2]) + "." +
         std::to_string(bytes[3]);
}

std::string Show(const IpAddress& address) {
  if (address.is_v4) return ShowV4(address.bytes.data());
  if (IsMapped(address)) return "::ffff:" + ShowV4(&address.bytes[12]);
  const auto group = [&](std::size_t i) { return (address.bytes[2 * i] << 8) | address.bytes[2 * i + 1]; };
  std::size_t zero_begin = 8;
  std::size_t zero_end = 8;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t j = i;
    while (j < 8 && group(j) == 0) ++j;
    if (j - i >= 2 && j - i > zero_end - zero_begin) {
      zero_begin = i;
      zero_end = j;
    }
  }
  std::string text;
  std::array<char, 8> buffer{};
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == zero_begin && zero_end > zero_begin) {
      text += "::";
      i = zero_end;
      if (i >= 8) break;
    } else if (i > 0) {
      text += ":";
    }
    std::snprintf(buffer.data(), buffer.size(), "%x", static_cast<unsigned>(group(i)));
    text += buffer.data();
  }
  return text;
}

Expected<Cidr> ReadCidr(const std::string& text) {
  const auto failure = [&](std::string_view why) {
    return InvalidError("network address parse error during conversion from string: netip.ParsePrefix(" +
                        GoQuoted(text) + "): " + std::string(why));
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string::npos) return failure("no '/'");
  std::string_view zone;
  auto address = ParseAddr(std::string_view(text).substr(0, slash), zone);
  if (!address.ok()) {
    return failure(address.error().message);
  }
  if (!zone.empty()) return failure("IPv6 zones cannot be present in a prefix");
  const std::string_view bits_text = std::string_view(text).substr(slash + 1);
  const bool is_plain = !bits_text.empty() && bits_text.find_first_not_of("0123456789") == std::string_view::npos &&
                        (bits_text.size() == 1 || bits_text[0] != '0');
  int bits = 0;
  const auto [end, problem] = std::from_chars(bits_text.data(), bits_text.data() + bits_text.size(), bits);
  if (!is_plain || problem != std::errc() || end != bits_text.data() + bits_text.size()) {
    return failure("bad bits after slash: " + GoQuoted(bits_text));
  }
  if (bits > (address->is_v4 ? 32 : 128)) return failure("prefix length out of range");
  if (IsMapped(*address)) return InvalidError("IPv4-mapped IPv6 address " + GoQuoted(text) + " is not allowed");
  return Cidr{*address, bits};
}

IpAddress Masked(const Cidr& cidr) {
  IpAddress masked = cidr.address;
  for (std::size_t i = 0; i < masked.bytes.size(); ++i) {
    const int bits = std::clamp(cidr.bits - static_cast<int>(i) * 8, 0, 8);
    masked.bytes[i] = static_cast<std::uint8_t>(masked.bytes[i] & (0xff00 >> bits));
  }
  return masked;
}

bool ContainsIp(const Cidr& cidr, const IpAddress& address) {
  return cidr.address.is_v4 == address.is_v4 && Masked(cidr) == Masked({address, cidr.bits});
}

Value ToIp(Arguments arguments, WorkLimit&) {
  const auto address = ReadIp(arguments[0].AsString());
  return address.ok() ? Value::Of(*address) : Value::Error(address.error().message);
}
Value IsIp(Arguments arguments, WorkLimit&) { return Value::Bool(ReadIp(arguments[0].AsString()).ok()); }
Value IsCanonical(Arguments arguments, WorkLimit&) {
  const auto address = ReadIp(arguments[0].AsString());
  return address.ok() ? Value::Bool(Show(*address) == arguments[0].AsString()) : Value::Error(address.error().message);
}
Value IpToString(Arguments arguments, WorkLimit&) { return Value::String(Show(arguments[0].AsIp())); }
Value Family(Arguments arguments, WorkLimit&) { return Value::Int(arguments[0].AsIp().is_v4 ? 4 : 6); }

bool IsUnspecified(const IpAddress& address) {
  return std::ranges::all_of(address.bytes, [](std::uint8_t byte) { return byte == 0; });
}
bool IsLoopback(const IpAddress& address) {
  if (address.is_v4) return address.bytes[0] == 127;
  IpAddress loopback;
  loopback.bytes[15] = 1;
  return address == loopback;
}
bool IsLinkLocalMulticast(const IpAddress& address) {
  const auto& b = address.bytes;
  return address.is_v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 0x02;
}
bool IsLinkLocalUnicast(const IpAddress& address) {
  const auto& b = address.bytes;
  return address.is_v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}
bool IsGlobalUnicast(const IpAddress& address) {
  const auto& b = address.bytes;
  const bool is_multicast = address.is_v4 ? (b[0] & 0xf0) == 0xe0 : b[0] == 0xff;
  const bool is_broadcast = address.is_v4 && b[0] == 255 && b[1] == 255 && b[2] == 255 && b[3] == 255;
  return !is_broadcast && !is_multicast && !IsUnspecified(address) && !IsLoopback(address) &&
         !IsLinkLocalUnicast(address);
}

template <bool (*test)(const IpAddress&)>
Value Test(Arguments arguments, WorkLimit&) {
  return Value::Bool(test(arguments[0].AsIp()));
}

Value ToCidr(Arguments arguments, WorkLimit&) {
  const auto cidr = ReadCidr(arguments[0].AsString());
  if (cidr.ok()) return Value::Of(*cidr);
  return Value::Error("network address parse error during conversion from string: " + cidr.error().message);
}
Value IsCidr(Arguments arguments, WorkLimit&) { return Value::Bool(ReadCidr(arguments[0].AsString()).ok()); }
Value CidrToString(Arguments arguments, WorkLimit&) {
  return Value::String(Show(arguments[0].AsCidr().address) + "/" + std::to_string(arguments[0].AsCidr().bits));
}
Value CidrIp(Arguments arguments, WorkLimit&) { return Value::Of(arguments[0].AsCidr().address); }
Value PrefixLength(Arguments arguments, WorkLimit&) { return Value::Int(arguments[0].AsCidr().bits); }
Value MaskedCidr(Arguments arguments, WorkLimit&) {
  return Value::Of(Cidr{Masked(arguments[0].AsCidr()), arguments[0].AsCidr().bits});
}
Value CidrContainsIp(Arguments arguments, WorkLimit& work) {
  // Upstream's message for an invalid address does not give the reason.
  const Value other = arguments[1].Is(ValueKind::kIp) ? arguments[1] : ToIp(arguments.subspan(1), work);
  if (other.IsError()) return Value::NoSuchOverload();
  return Value::Bool(ContainsIp(arguments[0].AsCidr(), other.AsIp()));
}
Value CidrContainsCidr(Arguments arguments, WorkLimit& work) {
  const Value other = arguments[1].Is(ValueKind::kCidr) ? arguments[1] : ToCidr(arguments.subspan(1), work);
  if (other.IsError()) return other;
  const Cidr& outer = arguments[0].AsCidr();
  const Cidr& inner = other.AsCidr();
  return Value::Bool(outer.bits <= inner.bits && ContainsIp(outer, inner.address));
}

}  // namespace

std::span<const OverloadBinding> NetBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"string_to_ip", ToIp},
      OverloadBinding{"is_ip", IsIp},
      OverloadBinding{"ip_is_canonical", IsCanonical},
      OverloadBinding{"ip_to_string", IpToString},
      OverloadBinding{"ip_family", Family},
      OverloadBinding{"ip_is_unspecified", Test<IsUnspecified>},
      OverloadBinding{"ip_is_loopback", Test<IsLoopback>},
      OverloadBinding{"ip_is_link_local_multicast", Test<IsLinkLocalMulticast>},
      OverloadBinding{"ip_is_link_local_unicast", Test<IsLinkLocalUnicast>},
      OverloadBinding{"ip_is_global_unicast", Test<IsGlobalUnicast>},
      OverloadBinding{"string_to_cidr", ToCidr},
      OverloadBinding{"is_cidr", IsCidr},
      OverloadBinding{"cidr_to_string", CidrToString},
      OverloadBinding{"cidr_ip", CidrIp},
      OverloadBinding{"cidr_prefix_length", PrefixLength},
      OverloadBinding{"cidr_masked", MaskedCidr},
      OverloadBinding{"cidr_contains_ip_string", CidrContainsIp},
      OverloadBinding{"cidr_contains_ip_ip", CidrContainsIp},
      OverloadBinding{"cidr_contains_cidr_string", CidrContainsCidr},
      OverloadBinding{"cidr_contains_cidr", CidrContainsCidr},
  };
  return kBindings;
}

}  // namespace berth::cel
