// SPDX-License-Identifier: Apache-2.0
// TrustSource: the authorities whose client certificates are accepted, and the front proxies that may name the user in
// headers. Both come from files, which are read again when they change, or from the ConfigMap
// kube-system/extension-apiserver-authentication, which is watched. As upstream's delegating authentication options. On
// its loop's thread, unless a comment says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/serving/client_certificate.h"
#include "berth/shell/serving/options.h"

namespace berth::serving {

// A snapshot of what is trusted.
struct Trust {
  struct RequestHeader {
    std::shared_ptr<const ClientAuthorities> authorities;
    std::vector<std::string> allowed_names;
    std::vector<std::string> username_headers;
    std::vector<std::string> uid_headers;
    std::vector<std::string> group_headers;
    std::vector<std::string> extra_header_prefixes;
  };

  std::shared_ptr<const ClientAuthorities> clients;  // null: client certificates are ignored
  std::optional<RequestHeader> request_header;

  // The certificates of all authorities, PEM. Sent to clients as a hint which certificate to show.
  std::string Hint() const;
};

// The data of the ConfigMap; a field is empty if its key is missing.
struct AuthenticationConfigMap {
  std::string client_ca;
  std::string request_header_client_ca;
  std::vector<std::string> allowed_names;
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_header_prefixes;
};

class TrustSource {
 public:
  // Reads the files, and fails if one does not load. Without `rest` (null), or with skip_lookup, the ConfigMap is not
  // read. `on_change` is called on the loop's thread after each change. `rest` must outlive it. Any thread.
  static Expected<std::unique_ptr<TrustSource>> Make(const AuthenticationOptions& options, client::RestClient* rest,
                                                     std::function<void()> on_change);
  ~TrustSource();

  // Starts to watch the ConfigMap. `looked_up` is called once: when the ConfigMap has been read, with the first error,
  // or at once if it is not to be read. Any thread, once.
  void Start(std::function<void(Expected<void>)> looked_up);
  // Any thread.
  void Stop();

  const Trust& now() const { return trust_; }
  // Whether there are authorities, or may be later. If not, clients are not asked for certificates. Any thread.
  bool IsConfigured() const;

  // Reads files that have changed. If a file does not load, its previous content stays in force.
  void CheckFiles();

 private:
  struct WatchedFile {
    std::string path;  // empty: none
    std::string failure;
  };

  explicit TrustSource(const AuthenticationOptions& options, std::function<void()> on_change);

  void Watch(client::RestClient& rest);
  void OnConfigMap(const AuthenticationConfigMap& map);
  void ReportLookedUp(Expected<void> result);
  // True if `authorities` has changed.
  bool Reload(WatchedFile& file, std::shared_ptr<const ClientAuthorities>& authorities);

  const AuthenticationOptions options_;
  const std::function<void()> on_change_;
  Trust trust_;
  WatchedFile client_ca_file_;
  WatchedFile request_header_ca_file_;
  std::function<void(Expected<void>)> looked_up_;
  std::unique_ptr<client::Informer<AuthenticationConfigMap>> informer_;  // null: nothing is looked up
};

}  // namespace berth::serving
