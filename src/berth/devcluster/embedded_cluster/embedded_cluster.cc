// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"

#include "berth/base/log.h"
#include "berth/devcluster/controllers/volume_provisioner.h"
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"
#include "berth/shell/net/free_memory.h"
#include "berth/shell/net/self_signed.h"
#include "berth/shell/net/url.h"

namespace berth::embedded_cluster {
namespace {

bool IsLoopback(const std::string& listen) {
  const auto address = net::SplitHostPort(listen);
  if (!address.ok()) return true;
  return address->first == "localhost" || address->first == "::1" || address->first.starts_with("127.");
}

// Claims that name no class get this one, as in most clusters that people try things on.
Expected<void> CreateDefaultStorageClass(client::RestClient& rest) {
  net::Request request;
  request.method = "POST";
  request.target = "/apis/storage.k8s.io/v1/storageclasses";
  request.body =
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"standard","annotations":)"
      R"({"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":")" +
      std::string(controllers::kProvisioner) + R"(","volumeBindingMode":"WaitForFirstConsumer"})";
  const auto made = rest.DoSync(std::move(request));
  // A StorageClass that was kept from an earlier run serves as well.
  if (!made.ok() && made.error().code != ErrorCode::kAlreadyExists) {
    return made.error().Wrap("while creating the default StorageClass");
  }
  return {};
}

// The Service by which pods, and clients that look for it, find the API server.
Expected<void> CreateKubernetesService(client::RestClient& rest, int port) {
  net::Request request;
  request.method = "POST";
  request.target = "/api/v1/namespaces/default/services";
  request.body =
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"kubernetes","labels":)"
      R"({"component":"apiserver","provider":"kubernetes"}},"spec":{"type":"ClusterIP","clusterIP":"10.96.0.1",)"
      R"("clusterIPs":["10.96.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None",)"
      R"("internalTrafficPolicy":"Cluster","ports":[{"name":"https","protocol":"TCP","port":443,"targetPort":)" +
      std::to_string(port) + "}]}}";
  const auto made = rest.DoSync(std::move(request));
  if (!made.ok() && made.error().code != ErrorCode::kAlreadyExists) {
    return made.error().Wrap("while creating the Service kubernetes");
  }
  return {};
}

// A certificate for all names that the server may be reached by.
Expected<net::TlsServerOptions> MakeCertificate(const EmbeddedClusterOptions& options, Time now) {
  net::SelfSignedOptions wanted;
  wanted.common_name = "berth";
  wanted.names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  const auto is_address = [](const std::string& host) {
    return host.find_first_not_of("0123456789.") == std::string::npos || host.find(':') != std::string::npos;
  };
  const auto add = [&](const std::string& host) {
    std::string name = (is_address(host) ? "IP:" : "DNS:") + host;
    if (std::find(wanted.names.begin(), wanted.names.end(), name) == wanted.names.end())
      wanted.names.push_back(std::move(name));
  };
  for (const std::string& each : options.host_names) add(each);
  if (const auto split = net::SplitHostPort(options.listen); split.ok() && !split->first.empty()) add(split->first);
  wanted.now = now;
  BERTH_ASSIGN_OR_RETURN(auto made, net::MakeSelfSigned(wanted));
  net::TlsServerOptions tls;
  tls.certificate_chain_pem = std::move(made.first);
  tls.private_key_pem = std::move(made.second);
  return tls;
}

}  // namespace

EmbeddedCluster::EmbeddedCluster(const Clock& clock) : loop_(client_io_, clock) {}

Expected<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::Start(const EmbeddedClusterOptions& options,
                                                                  const Clock& clock) {
  std::unique_ptr<EmbeddedCluster> cluster(new EmbeddedCluster(clock));
  apiserver::ApiServerOptions server;
  server.seed = options.seed;
  server.io = &cluster->server_io_;
  server.host_names = options.host_names;
  server.token_key = options.token_key;
  server.admin_token = options.token;
  server.release_minor = options.release_minor;
  server.creation_warnings = options.creation_warnings;
  if (!options.data.empty()) {
    BERTH_ASSIGN_OR_RETURN(cluster->data_, data_file::DataFile::Open(options.data));
    BERTH_ASSIGN_OR_RETURN(data_file::DataFile::Contents contents, cluster->data_->Load());
    server.log = cluster->data_.get();
    server.saved = std::move(contents.objects);
    server.saved_version = contents.resource_version;
  }
  cluster->server_ = std::make_unique<apiserver::ApiServer>(objects::ResourceTypes(), clock, server);
  net::ReturnFreeMemory(cluster->server_io_);
  if (!options.listen.empty()) {
    net::HttpServerOptions http;
    http.listen = options.listen;
    http.malformed = &apiserver::ApiServer::MalformedRequest;
    cluster->has_tls_ = options.has_tls;
    ServerAccess access;
    access.token = options.token;
    if (options.has_tls) {
      BERTH_ASSIGN_OR_RETURN(http.tls, MakeCertificate(options, clock.WallNow()));
      access.certificate_pem = http.tls->certificate_chain_pem;
    }
    BERTH_ASSIGN_OR_RETURN(
        cluster->http_, net::StartHttpServer(
                            cluster->server_io_, http,
                            options.token.empty() ? cluster->server_->handler() : cluster->server_->outside_handler()));
    access.address = cluster->http_->address();
    if (!options.kubeconfig.empty()) BERTH_RETURN_IF_ERROR(WriteKubeconfig(options.kubeconfig, access));
    if (!IsLoopback(options.listen) && options.token.empty()) {
      log::Warning("apiserver", "This server knows no users: whoever reaches it may change everything",
                   {{"listen", cluster->http_->address()}});
    }
  }
  // Requests are handled on the clients' loop: what blocks it (a full input queue) must not stop HTTP clients.
  cluster->transport_ = cluster->server_->InProcessTransport(cluster->client_io_);
  cluster->events_transport_ = cluster->server_->InProcessTransport(cluster->client_io_);
  cluster->rest_ = std::make_unique<client::RestClient>(cluster->loop_, *cluster->transport_, nullptr, options.seed);
  cluster->events_ =
      std::make_unique<client::RestClient>(cluster->loop_, *cluster->events_transport_, nullptr, options.seed + 1);
  BERTH_RETURN_IF_ERROR(CreateKubernetesService(*cluster->rest_, cluster->http_ ? cluster->http_->port() : 443));
  if (options.nodes > 0 || !options.shapes.empty()) {
    kubelet::KubeletOptions kubelets;
    kubelets.nodes = options.nodes;
    kubelets.shapes = options.shapes;
    kubelets.adopts_nodes = true;
    kubelets.version = "v1." + std::to_string(options.release_minor) + ".0";
    kubelets.seed = options.seed;
    if (const auto valid = kubelet::CheckKubeletOptions(kubelets); !valid.ok()) return valid.error().Wrap("--nodes");
    cluster->kubelets_ = std::make_unique<kubelet::KubeletSimulator>(*cluster->rest_, kubelets);
    cluster->kubelets_->Start();
    BERTH_RETURN_IF_ERROR(CreateDefaultStorageClass(*cluster->rest_));
  }
  controllers::ControllersOptions controllers;
  controllers.provisions_only = !options.has_controllers;
  controllers.seed = options.seed;
  controllers.hostname = options.hostname;
  cluster->controllers_ = std::make_unique<controllers::Controllers>(*cluster->rest_, *cluster->events_, controllers);
  cluster->controllers_->Start();
  return cluster;
}

void EmbeddedCluster::Stop() {
  if (controllers_) controllers_->Stop();
  if (kubelets_) kubelets_->Stop();
  client_io_.Stop();
}

EmbeddedCluster::~EmbeddedCluster() {
  Stop();
  http_.reset();
  server_io_.Stop();
}

}  // namespace berth::embedded_cluster
