// SPDX-License-Identifier: Apache-2.0
// Looking at PEM certificates and keys before a connection does, so that an error can say which file is wrong. OpenSSL
// stays behind it. For the sources of this folder; any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::client {

struct CertificateInfo {
  std::string subject;  // "CN=admin,O=system:masters"
  Time valid_from;
  Time valid_until;
};

// The first certificate of a PEM. The error continues a sentence that begins with the file: "holds no PEM certificate".
Expected<CertificateInfo> ReadCertificate(std::string_view certificate_pem);

// The key parses and belongs to the first certificate.
Expected<void> CheckKey(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace berth::client
