// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http_client.h"

#include "berth/shell/net/client_pool.h"
#include "berth/shell/net/client_settings.h"
#include "berth/shell/net/client_stream.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/proxy_handshake.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

class Handle final : public StreamHandle {
 public:
  explicit Handle(std::shared_ptr<ClientStream> stream) : stream_(std::move(stream)) {}
  ~Handle() override { stream_->Cancel(); }
  void Cancel() override { stream_->Cancel(); }

 private:
  const std::shared_ptr<ClientStream> stream_;
};

class HttpClient final : public Transport {
 public:
  HttpClient(IoContext::Impl& io, ClientSettings settings) {
    Loop& loop = io.NextLoop();
    pool_ = std::make_shared<ClientPool>(io, loop, std::move(settings));
  }

  ~HttpClient() override {
    pool_->io().RunAndWait(pool_->loop(), [this](bool is_stopped) { pool_->Shutdown(is_stopped); });
  }

  void Send(Request request, SendOptions options, Done done) override {
    pool_->Send(std::move(request), options, std::move(done));
  }

  std::unique_ptr<StreamHandle> Stream(Request request, StreamOptions options, StreamCallbacks callbacks) override {
    return std::make_unique<Handle>(pool_->StartStream(std::move(request), options, std::move(callbacks)));
  }

 private:
  std::shared_ptr<ClientPool> pool_;
};

Expected<void> GoThrough(const Proxy& proxy, const Url& server, const std::optional<TlsClientOptions>& tls,
                         ClientSettings& settings) {
  LinkProxy link{.proxy = proxy};
  const bool is_socks = proxy.kind == Proxy::Kind::kSocks5;
  if (is_socks && server.host.size() > kSocksTextBytesMax) {
    return InvalidError("\"" + server.host.substr(0, 16) + "...\" is longer than SOCKS has room for");
  }
  link.makes_tunnel = is_socks || server.scheme == "https";
  if (!link.makes_tunnel) {
    settings.asks_proxy = true;
    settings.prefix.insert(0, "http://" + settings.host);
    settings.proxy_authorization = ProxyAuthorization(proxy);
  }
  if (proxy.kind == Proxy::Kind::kHttps) {
    link.tls.offers_http2 = false;
    if (tls) {
      link.tls.ca_pem = tls->ca_pem;
      link.tls.ca_pem_now = tls->ca_pem_now;
      link.tls.adds_system_roots = true;
    }
    BERTH_ASSIGN_OR_RETURN(auto context, TlsContext::MakeClient(link.tls));
    link.tls_contexts = std::make_shared<ClientTlsContexts>(link.tls, std::move(context));
  }
  settings.where += " through proxy " + proxy.shown;
  settings.link.where = settings.where;
  settings.link.proxy = std::move(link);
  return {};
}

}  // namespace

Expected<std::unique_ptr<Transport>> MakeHttpClient(IoContext& io, HttpClientOptions options) {
  BERTH_ASSIGN_OR_RETURN(const Url url, ParseUrl(options.base_url));
  ClientSettings settings;
  settings.link.host = url.host;
  settings.link.port = url.port;
  settings.link.where = JoinHostPort(url.host, url.port);
  settings.link.connect_timeout = options.connect_timeout;
  settings.where = settings.link.where;
  const bool is_default_port = url.port == (url.scheme == "https" ? 443 : 80);
  settings.host = is_default_port ? settings.where.substr(0, settings.where.rfind(':')) : settings.where;
  settings.prefix = url.path;
  while (!settings.prefix.empty() && settings.prefix.back() == '/') settings.prefix.pop_back();
  if (!settings.prefix.empty() && !IsTargetText(settings.prefix)) {
    return InvalidError("URL " + options.base_url + ": its path must be percent-encoded");
  }
  if (options.proxy) {
    BERTH_RETURN_IF_ERROR(GoThrough(*options.proxy, url, options.tls, settings));
  }
  if (url.scheme == "https") {
    if (!options.tls) return InvalidError("URL " + options.base_url + " needs TLS options");
    BERTH_ASSIGN_OR_RETURN(auto tls_context, TlsContext::MakeClient(*options.tls));
    settings.link.tls_contexts = std::make_shared<ClientTlsContexts>(*options.tls, std::move(tls_context));
    settings.link.tls = options.tls;
  }
  settings.options = std::move(options);
  return std::unique_ptr<Transport>(std::make_unique<HttpClient>(io.impl(), std::move(settings)));
}

}  // namespace berth::net
