// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/service_account_tokens.h"

#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "berth/base/check.h"
#include "berth/devcluster/apiserver/base64_url.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";

std::string Signature(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  BERTH_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                   reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size) != nullptr);
  return EncodeBase64Url({reinterpret_cast<const char*>(digest), size});
}

}  // namespace

std::string SignToken(std::string_view key, const json::object& claims) {
  const std::string text = EncodeBase64Url(kHeader) + '.' + EncodeBase64Url(json::serialize(claims));
  return text + '.' + Signature(key, text);
}

std::optional<json::object> ReadToken(std::string_view key, std::string_view token) {
  if (token.size() > kTokenBytesMax) return std::nullopt;
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string wanted = Signature(key, token.substr(0, last));
  const std::string_view got = token.substr(last + 1);
  if (got.size() != wanted.size() || CRYPTO_memcmp(got.data(), wanted.data(), wanted.size()) != 0) return std::nullopt;
  const auto text = DecodeBase64Url(token.substr(first + 1, last - first - 1));
  if (!text) return std::nullopt;
  auto claims = codec::ParseJson(*text, {.bytes_max = kTokenBytesMax});
  if (!claims.ok() || !claims->is_object()) return std::nullopt;
  return std::move(claims->get_object());
}

}  // namespace berth::apiserver
