// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/rebalance_metrics.h"

#include <future>
#include <utility>

#include "berth/app/connection.h"
#include "berth/base/base64.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

// The descheduler's name for it.
constexpr char kTokenKey[] = "prometheusAuthToken";

std::string OfServiceAccount(const char* file) { return std::string(client::kServiceAccountFolder) + file; }
bool IsHttps(const std::string& url) { return url.starts_with("https://"); }

}  // namespace

Expected<std::string> RebalanceMetrics::ListMetrics(std::string_view resource) {
  net::Request request;
  request.target = client::ObjectPath("/apis/metrics.k8s.io/v1beta1", "", resource);
  client::RestOptions options;
  options.timeout = kTimeout;
  options.tries = 2;
  options.body_bytes_max = rebalance::kMetricsBytesMax;
  auto response = answers_.Do(rest_, std::move(request), options);
  if (!response.ok()) return response.error();
  return std::move(response->body);
}

Expected<void> RebalanceMetrics::Connect() {
  if (prometheus_ != nullptr) return {};
  net::HttpClientOptions options;
  options.base_url = provider_->url;
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  options.connections_max = 1;
  options.queued_requests_max = 1;
  options.tls.emplace();
  options.tls->adds_system_roots = true;
  // A Prometheus of the cluster often has a certificate of the cluster's own authority.
  if (auto ca = client::ReadSmallFile(OfServiceAccount("ca.crt")); ca.ok()) options.tls->ca_pem = std::move(*ca);
  BERTH_ASSIGN_OR_RETURN(prometheus_, MakeOutsideClient(io_, std::move(options)));
  return {};
}

// That of the Secret, read anew each time; or the pod's own, which goes to a server that is known by its certificate
// alone. Empty: none.
Expected<std::string> RebalanceMetrics::Token() {
  const rebalance::PrometheusProvider& provider = *provider_;
  if (provider.secret_name.empty()) {
    const auto token = IsHttps(provider.url) ? client::ReadTokenFile(OfServiceAccount("token")) : InvalidError("");
    return token.ok() ? *token : std::string();
  }
  net::Request request;
  request.target = client::ObjectPath("/api/v1", provider.secret_namespace, "secrets", provider.secret_name);
  client::RestOptions options;
  options.timeout = kTimeout;
  options.tries = 2;
  const auto response = answers_.Do(rest_, std::move(request), options);
  if (!response.ok()) return response.error();
  codec::JsonReader reader({.bytes_max = std::size_t{3} << 20});
  BERTH_ASSIGN_OR_RETURN(const auto document, reader.Parse(response->body));
  const auto data = codec::FindMember(document, "data");
  const auto token = DecodeBase64(data ? codec::StringOrEmpty(*data, kTokenKey) : "");
  if (!token.ok() || token->empty()) {
    return InvalidError("Secret " + provider.secret_namespace + "/" + provider.secret_name + " has no " + kTokenKey);
  }
  return *token;
}

Expected<std::string> RebalanceMetrics::Query(const std::string& query) {
  if (!provider_) return InvalidError("the policy names no server");
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_ASSIGN_OR_RETURN(const std::string token, Token());
  net::Request request;
  request.target = "/api/v1/query?query=" + net::PercentEncode(query);
  request.headers.push_back({"Accept", "application/json"});
  request.headers.push_back({"User-Agent", client::DefaultUserAgent()});
  if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
  net::SendOptions options;
  options.timeout = kTimeout;
  options.body_bytes_max = rebalance::kMetricsBytesMax;
  const auto promise = std::make_shared<std::promise<Expected<net::Response>>>();
  prometheus_->Send(std::move(request), options,
                    [promise](Expected<net::Response> response) { promise->set_value(std::move(response)); });
  auto answer = promise->get_future();
  if (!answers_.Await(answer)) return AnswerWait::BrokenOff();
  auto response = answer.get();
  if (!response.ok()) return response.error();
  // A query that Prometheus refuses has a status of 4xx and a body that says why.
  const bool has_answer = response->status == 200 || response->status == 400 || response->status == 422;
  if (!has_answer) return Error{ErrorCode::kUnavailable, "it answered with status " + std::to_string(response->status)};
  return std::move(response->body);
}

}  // namespace berth::app
