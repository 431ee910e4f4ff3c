// SPDX-License-Identifier: Apache-2.0
// PEM from anywhere, as a certificate, a key, a pair (divided by the first 0x1e) and as trusted roots of a connection.
// Errors are one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/shell/client/certificate.h"
#include "berth/shell/net/channel.h"

namespace {

void CheckOneLine(const berth::Error& error) {
  BERTH_CHECK(!error.message.empty());
  for (const char c : error.message) BERTH_CHECK(static_cast<unsigned char>(c) >= 0x20, error.message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view certificate = input.substr(0, input.find('\x1e'));
  const std::string_view key =
      certificate.size() < input.size() ? input.substr(certificate.size() + 1) : std::string_view();
  const auto read = berth::client::ReadCertificate(certificate);
  if (!read.ok()) CheckOneLine(read.error());
  const auto pair = berth::client::CheckKey(certificate, key);
  if (!pair.ok()) CheckOneLine(pair.error());
  berth::net::TlsClientOptions options;
  options.ca_pem = std::string(certificate);
  if (!options.ca_pem.empty()) {
    const auto context = berth::net::TlsContext::MakeClient(options);
    if (!context.ok()) CheckOneLine(context.error());
  }
  berth::net::TlsServerOptions server;
  server.certificate_chain_pem = std::string(certificate);
  server.private_key_pem = std::string(key);
  const auto context = berth::net::TlsContext::MakeServer(server);
  if (!context.ok()) CheckOneLine(context.error());
  BERTH_CHECK(!context.ok() || pair.ok());
  return 0;
}
