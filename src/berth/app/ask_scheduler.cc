// SPDX-License-Identifier: Apache-2.0
#include "berth/app/ask_scheduler.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "berth/answers/explanation_json.h"
#include "berth/app/process.h"
#include "berth/app/question_flags.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;

// Who asks and whom, with the kubeconfig's credentials and nothing of its server but, perhaps, the authority.
Expected<client::ClientConfig> ConfigFor(const SchedulerPort& port, const ConnectionOptions& connection,
                                         const Clock& clock) {
  BERTH_ASSIGN_OR_RETURN(std::optional<client::ClientConfig> known, QuestionServer(connection, clock));
  client::ClientConfig config;
  config.server = port.url;
  config.credentials = client::MakeNoCredentials();
  if (known) {
    for (const std::string& warning : known->warnings) log::Warning("client", warning);
    config.credentials = known->credentials;
    config.headers = known->headers;
    config.ca_pem = known->ca_pem;
    config.ca_path = known->ca_path;
  }
  config.insecure_skip_tls_verify = port.insecure_skip_tls_verify;
  if (!port.ca_file.empty()) {
    const auto pem = client::ReadSmallFile(port.ca_file);
    if (!pem.ok()) return InvalidError(pem.error().Wrap("--scheduler-ca-file").message);
    config.ca_pem = *pem;
    config.ca_path.clear();
  }
  return WithProxy(std::move(config));
}

// What to do about it, behind what is wrong.
std::string_view HintFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::kForbidden: return "; deploy/explain-role.yaml is a role that may";
    case ErrorCode::kUnauthorized: return "; the kubeconfig's user is not known there";
    case ErrorCode::kNotFound:
      return error.message.find("there is no pod") == std::string::npos
                 ? "; is it berth? kube-scheduler has no /explain, nor has berth with --secure-port=0"
                 : "; it knows the pods on nodes and those that name it as their scheduler";
    default:
      return error.message.find("certificate") == std::string::npos
                 ? ""
                 : "; --scheduler-ca-file says what to trust, --scheduler-insecure-skip-tls-verify trusts anybody";
  }
}

Expected<whatif::Explanation> Read(const std::string& body) {
  BERTH_ASSIGN_OR_RETURN(const codec::json::value json, codec::ParseJson(body, {.bytes_max = kAnswerBytesMax}));
  return answers::ParseExplanation(json);
}

}  // namespace

Expected<whatif::Explanation> AskScheduler(const SchedulerPort& port, const ConnectionOptions& connection,
                                           const std::string& namespace_name, const std::string& name) {
  const SystemClock clock;
  BERTH_ASSIGN_OR_RETURN(const client::ClientConfig config, ConfigFor(port, connection, clock));
  net::IoContext io;
  client::IoEventLoop loop(io, clock);
  BERTH_ASSIGN_OR_RETURN(const auto transport, client::MakeTransport(io, config, 1));
  client::RestClientOptions options;
  options.headers = config.headers;
  client::RestClient rest(loop, *transport, config.credentials, RandomSeed(), options);
  net::Request request;
  request.target = "/explain/pods/" + net::PercentEncode(namespace_name) + "/" + net::PercentEncode(name);
  const auto response = rest.DoSync(std::move(request), {.body_bytes_max = kAnswerBytesMax});
  io.Stop();
  if (!response.ok()) {
    Error error = response.error().Wrap("asking " + config.server);
    error.message += HintFor(response.error());
    return error;
  }
  auto said = Read(response->body);
  if (!said.ok()) return Error{ErrorCode::kInternal, said.error().Wrap("the answer of " + config.server).message};
  return said;
}

}  // namespace berth::app
