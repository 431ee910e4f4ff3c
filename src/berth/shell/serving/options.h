// SPDX-License-Identifier: Apache-2.0
// The options of the secure port that kube-scheduler's flags set, with upstream's defaults (k8s.io/apiserver,
// pkg/server/options, as changed by cmd/kube-scheduler 1.36). Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::serving {

// One --tls-sni-cert-key.
struct NamedCertificateFiles {
  std::string cert_file;
  std::string key_file;
  std::vector<std::string> names;  // domain patterns; empty: those of the certificate
  bool operator==(const NamedCertificateFiles&) const = default;
};

struct SecureServingOptions {
  std::string bind_address = "0.0.0.0";  // an IP address; 0.0.0.0 and :: stand for all of both families
  int port = 10259;                      // 0: no server
  // Without cert_file and cert_dir a self-signed certificate is made in memory.
  std::string cert_file;  // PEM, the chain behind the certificate
  std::string key_file;
  // Used without cert_file. "kube-scheduler.crt" and ".key" are read from there, and written there if they do not
  // exist.
  std::string cert_dir;
  std::string min_tls_version;             // Go's names, VersionTLS10 to VersionTLS13; empty: VersionTLS12
  std::vector<std::string> cipher_suites;  // IANA's names; empty: OpenSSL's choice
  std::vector<std::int32_t> curves;        // IANA's numbers; empty: OpenSSL's choice
  std::vector<NamedCertificateFiles> named_certificates;
  bool shares_port = false;  // SO_REUSEPORT
  bool disables_http2 = false;
  std::int32_t http2_streams_max = 0;  // at once on a connection; 0 and less: 100, as upstream
  // Over HTTP/2 the connection of an anonymous user ends after the answer (the gate UnauthenticatedHTTP2DOSMitigation).
  bool ends_anonymous_http2 = true;
};

// Front proxies that may name the user in headers: those that show a certificate of `client_ca_file`.
struct RequestHeaderOptions {
  std::string client_ca_file;              // empty: this and all below come from the cluster
  std::vector<std::string> allowed_names;  // of the proxy's certificate; empty: any
  std::vector<std::string> username_headers{"x-remote-user"};
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers{"x-remote-group"};
  std::vector<std::string> extra_header_prefixes{"x-remote-extra-"};
};

struct AuthenticationOptions {
  std::string kubeconfig;  // empty: the pod's service account; without one no token is known
  Duration token_cache_ttl = std::chrono::seconds(10);  // 0: nothing is kept
  bool skip_lookup = false;                             // nothing is looked up in the cluster
  bool tolerate_lookup_failure = true;
  std::string client_ca_file;  // empty: looked up in the cluster
  RequestHeaderOptions request_header;
};

struct AuthorizationOptions {
  std::string kubeconfig;  // as AuthenticationOptions'; without one nobody but system:masters may do anything
  std::vector<std::string> always_allow_paths{"/healthz", "/readyz", "/livez"};  // one that ends in * is a prefix
  Duration authorized_ttl = std::chrono::seconds(10);
  Duration unauthorized_ttl = std::chrono::seconds(10);
};

}  // namespace berth::serving
