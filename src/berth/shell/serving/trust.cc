// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/trust.h"

#include <utility>

#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/file.h"

namespace berth::serving {
namespace {

constexpr std::string_view kConfigMapName = "extension-apiserver-authentication";

// Reads a list of the ConfigMap, which is a JSON array of strings; anything else counts as empty.
std::vector<std::string> StringList(std::string_view text) {
  std::vector<std::string> list;
  const auto parsed = codec::ParseJson(text);
  if (!parsed.ok() || !parsed->is_array()) return list;
  for (const codec::json::value& each : parsed->get_array()) {
    if (each.is_string()) list.emplace_back(each.get_string());
  }
  return list;
}

Expected<std::shared_ptr<const AuthenticationConfigMap>> DecodeAuthenticationConfigMap(
    const simdjson::dom::element& object) {
  auto map = std::make_shared<AuthenticationConfigMap>();
  const auto metadata = codec::FindMember(object, "metadata");
  const auto data = codec::FindMember(object, "data");
  // A server without field selectors sends other ConfigMaps as well.
  if (!metadata || !data || codec::StringOrEmpty(*metadata, "name") != kConfigMapName) {
    return std::shared_ptr<const AuthenticationConfigMap>(std::move(map));
  }
  map->client_ca = codec::StringOrEmpty(*data, "client-ca-file");
  map->request_header_client_ca = codec::StringOrEmpty(*data, "requestheader-client-ca-file");
  map->allowed_names = StringList(codec::StringOrEmpty(*data, "requestheader-allowed-names"));
  map->username_headers = StringList(codec::StringOrEmpty(*data, "requestheader-username-headers"));
  map->uid_headers = StringList(codec::StringOrEmpty(*data, "requestheader-uid-headers"));
  map->group_headers = StringList(codec::StringOrEmpty(*data, "requestheader-group-headers"));
  map->extra_header_prefixes = StringList(codec::StringOrEmpty(*data, "requestheader-extra-headers-prefix"));
  return std::shared_ptr<const AuthenticationConfigMap>(std::move(map));
}

// Null if the text is empty. If it does not parse the old authorities stay.
std::shared_ptr<const ClientAuthorities> AuthoritiesFrom(const std::string& pem, std::string_view key,
                                                         std::shared_ptr<const ClientAuthorities> old) {
  if (pem.empty()) return nullptr;
  if (old != nullptr && old->pem() == pem) return old;
  auto made = ClientAuthorities::Make(pem);
  if (made.ok()) return *std::move(made);
  log::Warning("serving", "ConfigMap's authorities were not taken",
               {{"configMap", kConfigMapName}, {"key", key}, {"error", made.error().message}});
  return old;
}

}  // namespace

std::string Trust::Hint() const {
  std::string pem;
  if (clients != nullptr) pem += clients->pem() + "\n";
  if (request_header && request_header->authorities != nullptr) pem += request_header->authorities->pem();
  return pem;
}

TrustSource::TrustSource(const AuthenticationOptions& options, std::function<void()> on_change)
    : options_(options),
      on_change_(std::move(on_change)),
      client_ca_file_{options.client_ca_file, {}},
      request_header_ca_file_{options.request_header.client_ca_file, {}} {}

TrustSource::~TrustSource() { Stop(); }

Expected<std::unique_ptr<TrustSource>> TrustSource::Make(const AuthenticationOptions& options, client::RestClient* rest,
                                                         std::function<void()> on_change) {
  std::unique_ptr<TrustSource> source(new TrustSource(options, std::move(on_change)));
  const auto read = [](const std::string& path,
                       std::string_view flag) -> Expected<std::shared_ptr<const ClientAuthorities>> {
    auto pem = client::ReadSmallFile(path);
    if (!pem.ok()) return pem.error().Wrap(flag);
    auto made = ClientAuthorities::Make(*std::move(pem));
    if (!made.ok()) return InvalidError(std::string(flag) + ": " + path + ": " + made.error().message);
    return made;
  };
  if (!options.client_ca_file.empty()) {
    BERTH_ASSIGN_OR_RETURN(source->trust_.clients, read(options.client_ca_file, "--client-ca-file"));
  }
  const RequestHeaderOptions& header = options.request_header;
  if (!header.client_ca_file.empty()) {
    BERTH_ASSIGN_OR_RETURN(auto authorities, read(header.client_ca_file, "--requestheader-client-ca-file"));
    source->trust_.request_header = {std::move(authorities), header.allowed_names, header.username_headers,
                                     header.uid_headers,     header.group_headers, header.extra_header_prefixes};
  }
  const bool looks_up = !options.skip_lookup && (options.client_ca_file.empty() || header.client_ca_file.empty());
  if (looks_up && rest != nullptr) {
    source->Watch(*rest);
  } else if (looks_up) {
    log::Warning("serving",
                 "Without --authentication-kubeconfig nothing is looked up in the cluster, so client certificates and "
                 "request headers say nothing unless --client-ca-file or --requestheader-client-ca-file is given");
  }
  return source;
}

bool TrustSource::IsConfigured() const {
  return informer_ != nullptr || !client_ca_file_.path.empty() || !request_header_ca_file_.path.empty();
}

void TrustSource::Watch(client::RestClient& rest) {
  client::Informer<AuthenticationConfigMap>::Options map;
  map.name = "configmap kube-system/extension-apiserver-authentication";
  map.path = "/api/v1/namespaces/kube-system/configmaps";
  map.field_selector = "metadata.name=" + std::string(kConfigMapName);
  map.decode = DecodeAuthenticationConfigMap;
  client::Informer<AuthenticationConfigMap>::Handler handler;
  using Ptr = std::shared_ptr<const AuthenticationConfigMap>;
  handler.on_add = [this](const Ptr& object) { OnConfigMap(*object); };
  handler.on_update = [this](const Ptr&, const Ptr& object) { OnConfigMap(*object); };
  // A deleted ConfigMap changes nothing, as upstream: kube-apiserver writes it again.
  handler.on_synced = [this] { ReportLookedUp({}); };
  handler.on_failure = [this](const Error& error) { ReportLookedUp(error); };
  informer_ = std::make_unique<client::Informer<AuthenticationConfigMap>>(rest, std::move(map), std::move(handler));
}

void TrustSource::Start(std::function<void(Expected<void>)> looked_up) {
  if (informer_ == nullptr) {
    looked_up({});
    return;
  }
  looked_up_ = std::move(looked_up);
  informer_->Start();
}

void TrustSource::Stop() {
  if (informer_ != nullptr) informer_->Stop();
}

void TrustSource::ReportLookedUp(Expected<void> result) {
  if (const auto looked_up = std::exchange(looked_up_, nullptr)) looked_up(std::move(result));
}

void TrustSource::OnConfigMap(const AuthenticationConfigMap& map) {
  if (client_ca_file_.path.empty()) {
    trust_.clients = AuthoritiesFrom(map.client_ca, "client-ca-file", std::move(trust_.clients));
  }
  if (request_header_ca_file_.path.empty()) {
    auto old = trust_.request_header ? trust_.request_header->authorities : nullptr;
    auto authorities = AuthoritiesFrom(map.request_header_client_ca, "requestheader-client-ca-file", std::move(old));
    trust_.request_header.reset();
    if (authorities != nullptr) {
      trust_.request_header = {std::move(authorities), map.allowed_names, map.username_headers,
                               map.uid_headers,        map.group_headers, map.extra_header_prefixes};
    }
  }
  on_change_();
}

bool TrustSource::Reload(WatchedFile& file, std::shared_ptr<const ClientAuthorities>& authorities) {
  if (file.path.empty()) return false;
  auto pem = client::ReadSmallFile(file.path);
  if (pem.ok() && authorities != nullptr && *pem == authorities->pem()) {
    file.failure.clear();
    return false;
  }
  Expected<std::shared_ptr<const ClientAuthorities>> made = Error{};
  if (pem.ok()) {
    made = ClientAuthorities::Make(*std::move(pem));
  } else {
    made = pem.error();
  }
  if (!made.ok()) {
    // A file may be missing or incomplete while it is being replaced. Each new reason is logged once.
    if (std::exchange(file.failure, made.error().message) != made.error().message) {
      log::Warning("serving", "Authorities were not read again",
                   {{"file", file.path}, {"error", made.error().message}});
    }
    return false;
  }
  file.failure.clear();
  authorities = *std::move(made);
  log::Info("serving", "Authorities were read again", {{"file", file.path}});
  return true;
}

void TrustSource::CheckFiles() {
  bool is_changed = Reload(client_ca_file_, trust_.clients);
  if (trust_.request_header && !request_header_ca_file_.path.empty()) {
    is_changed = Reload(request_header_ca_file_, trust_.request_header->authorities) || is_changed;
  }
  if (is_changed) on_change_();
}

}  // namespace berth::serving
