// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/named_certificates.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "berth/base/text.h"
#include "berth/shell/net/channel.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

// "*" alone, or a DNS name that may begin with "*.".
bool IsDomain(std::string_view name) {
  if (name == "*") return true;
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (name.empty() || name.size() > 253) return false;
  const auto is_end = [](char c) { return IsLower(c) || IsDigit(c); };
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || !is_end(label.front()) || !is_end(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) { return is_end(c) || c == '-'; })) return false;
    if (label.size() == name.size()) break;
    name.remove_prefix(label.size() + 1);
    if (name.empty()) return false;
  }
  return true;
}

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// The common name if it is a domain, and the DNS names. Addresses do not count, since SNI never has them.
std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0) {
    std::string name = TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (!IsIpAddress(name) && IsDomain(name)) names.push_back(std::move(name));
  }
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> others(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; others != nullptr && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* other = sk_GENERAL_NAME_value(others.get(), i);
    if (other->type == GEN_DNS) names.push_back(TextOf(other->d.dNSName));
  }
  return names;
}

bool IsFor(ssl_ctx_st* context, const std::string& name) {
  return X509_check_host(SSL_CTX_get0_certificate(context), name.data(), name.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
}

// The address of the server that the connection has reached.
std::string OwnAddress(ssl_st* ssl) {
  BIO* bio = SSL_get_rbio(ssl);
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = bio == nullptr ? -1 : static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  if (fd < 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {  // the socket is for both families
      ::inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof text);
    } else {
      ::inet_ntop(AF_INET6, &six, text, sizeof text);
    }
  }
  return text;
}

int DataIndex() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* data, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<NamedCertificates*>(data); });
  return index;
}

int Choose(ssl_st* ssl, int*, void*) {
  ssl_ctx_st* own = SSL_get_SSL_CTX(ssl);
  const auto* named = static_cast<const NamedCertificates*>(SSL_CTX_get_ex_data(own, DataIndex()));
  if (named == nullptr) return SSL_TLSEXT_ERR_NOACK;
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  const TlsContext* found = name != nullptr ? named->Find(name, "", own) : named->Find("", OwnAddress(ssl), own);
  if (found != nullptr) SSL_set_SSL_CTX(ssl, found->get());
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void NamedCertificates::Add(std::shared_ptr<const TlsContext> context, const std::vector<std::string>& names) {
  if (names.empty()) {
    for (const std::string& name : NamesOf(SSL_CTX_get0_certificate(context->get())))
      implied_.try_emplace(name, context.get());
  }
  for (const std::string& name : names) given_.try_emplace(name, context.get());
  contexts_.push_back(std::move(context));
}

const TlsContext* NamedCertificates::Find(std::string_view name, std::string_view address, ssl_ctx_st* own) const {
  const auto exactly = [this](std::string_view wanted) -> const TlsContext* {
    for (const auto* names : {&given_, &implied_}) {
      if (const auto found = names->find(wanted); found != names->end()) return found->second;
    }
    return nullptr;
  };
  if (name.empty()) return address.empty() ? nullptr : exactly(address);
  std::string asked = LowerCase(name);
  if (asked.ends_with('.')) asked.pop_back();
  if (const TlsContext* found = exactly(asked)) return found;
  const std::size_t dot = std::min(asked.find('.'), asked.size());
  if (const TlsContext* found = exactly("*" + asked.substr(dot))) return found;
  if (IsFor(own, asked)) return nullptr;
  for (const auto& context : contexts_) {
    if (IsFor(context->get(), asked)) return context.get();
  }
  return nullptr;
}

void NamedCertificates::Attach(std::unique_ptr<NamedCertificates> named, ssl_ctx_st* context) {
  SSL_CTX_set_ex_data(context, DataIndex(), named.release());
  // The macro SSL_CTX_set_tlsext_servername_callback has an old-style cast.
  SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, reinterpret_cast<void (*)()>(Choose));
}

}  // namespace berth::net
