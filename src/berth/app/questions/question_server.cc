// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_server.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "berth/app/process.h"
#include "berth/app/questions/question_output.h"
#include "berth/ask/ask_service.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/reply.h"
#include "berth/base/base64.h"
#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20;
// The server ends a question much sooner.
constexpr Duration kAnswerTimeMax = std::chrono::hours(2);

std::string CheckUrl(const std::string& text) {
  const auto url = net::ParseUrl(text);
  const bool is_server = url.ok() && url->scheme == "https" && url->path.empty();
  return is_server ? "" : Quoted(text) + " should be https://HOST:PORT, the address of a berth serve";
}

// What to do about it, behind what is wrong.
std::string_view HintFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::kForbidden: return "; deploy/ask-role.yaml is a role that may";
    case ErrorCode::kUnauthorized: return "; the kubeconfig's user is not known there";
    default:
      return error.message.find("certificate") == std::string::npos
                 ? ""
                 : "; --server-ca-file says what to trust, --server-insecure-skip-tls-verify trusts anybody";
  }
}

// Of a file; in base64 it grows by a third, and the rest of the question needs room, too.
constexpr std::size_t kSnapshotBytesMax = std::size_t{32} << 20;

// As PrintAnswer has it.
std::string StyleQuery(QuestionOutput output, const cli::FileTerminal& terminal) {
  if (IsDocument(output)) return "";
  std::string query = "?columns=" + std::to_string(terminal.IsTty() ? terminal.Size().columns : 0);
  if (output == QuestionOutput::kWide) query += "&wide=true";
  if (terminal.HasColor()) query += "&color=true";
  return query;
}

// The texts of "299 - "text"".
void PrintWarnings(const net::Response& response) {
  for (const net::Header& header : response.headers) {
    if (!net::EqualsIgnoreCase(header.name, "Warning")) continue;
    const std::size_t begin = header.value.find('"');
    const std::size_t end = header.value.rfind('"');
    if (begin == std::string::npos || end <= begin) continue;
    std::string text;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (header.value[i] == '\\' && i + 1 < end) ++i;
      text += header.value[i];
    }
    Warn(text);
  }
}

Expected<net::Response> Post(const QuestionOptions& options, const std::string& target, std::string body) {
  const SystemClock clock;
  BERTH_ASSIGN_OR_RETURN(const client::ClientConfig config,
                         ConfigForPort(options.server, "--server-ca-file", options.connection, clock));
  net::IoContext io;
  client::IoEventLoop loop(io, clock);
  BERTH_ASSIGN_OR_RETURN(const auto transport, client::MakeTransport(io, config, 1));
  client::RestClientOptions how;
  how.headers = config.headers;
  client::RestClient rest(loop, *transport, config.credentials, RandomSeed(), how);
  net::Request request;
  request.method = "POST";
  request.target = target;
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back({"Accept", IsDocument(options.output) ? "application/json" : "text/plain"});
  request.body = std::move(body);
  client::RestOptions rest_options;
  rest_options.body_bytes_max = kAnswerBytesMax;
  rest_options.timeout = kAnswerTimeMax;
  auto response = rest.DoSync(std::move(request), rest_options);
  io.Stop();
  if (response.ok()) return response;
  Error error = response.error().Wrap("asking " + config.server);
  error.message += HintFor(response.error());
  return error;
}

}  // namespace

Expected<client::ClientConfig> ConfigForPort(const ServerPort& port, const std::string& ca_flag,
                                             const ConnectionOptions& connection, const Clock& clock) {
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
    if (!pem.ok()) return InvalidError(pem.error().Wrap(ca_flag).message);
    config.ca_pem = *pem;
    config.ca_path.clear();
  }
  return WithProxy(std::move(config));
}

void AddQuestionServer(cli::Command& command, ServerPort& server, bool has_release) {
  cli::Flag& flag =
      command.Option("server", server.url, "https://HOST:PORT of a berth serve, to ask it in place of the cluster")
          .Check(CheckUrl);
  flag.Excludes(command.At("master"));
  if (has_release) flag.Excludes(command.At("kubernetes-version")).Excludes(command.At("feature-gates"));
  command
      .Option("server-ca-file", server.ca_file,
              "authority of its certificate; default: that of the kubeconfig's cluster")
      .Type(cli::kFileHint)
      .Needs(flag);
  command
      .Switch("server-insecure-skip-tls-verify", server.insecure_skip_tls_verify,
              "take any certificate of it: whoever is there then gets the kubeconfig's token")
      .Needs(flag);
}

int AskServer(const QuestionOptions& options, const std::string& question, codec::json::object body) {
  if (!options.snapshot.empty()) {
    const auto snapshot = client::ReadSmallFile(options.snapshot, kSnapshotBytesMax);
    if (!snapshot.ok()) return cli::FailWith(snapshot.error().Wrap("--snapshot"), cli::kExitUsage);
    body["snapshot"] = EncodeBase64(*snapshot);
    body["snapshotName"] = options.snapshot;
  }
  if (!options.config.empty()) {
    auto configuration = client::ReadSmallFile(options.config, ask::kConfigurationBytesMax);
    if (!configuration.ok()) return cli::FailWith(configuration.error().Wrap("--config"), cli::kExitUsage);
    body[ask::kConfiguration] = *std::move(configuration);
  }
  cli::FileTerminal terminal(STDOUT_FILENO);
  const std::string target = std::string(ask::AskService::kApi) + question + StyleQuery(options.output, terminal);
  const auto response = Post(options, target, codec::WriteJson(body));
  if (!response.ok()) {
    const bool is_usage = response.error().code == ErrorCode::kInvalid || response.error().code == ErrorCode::kTooLarge;
    return cli::FailWith({response.error().code, cli::Printable(response.error().message)},
                         is_usage ? cli::kExitUsage : cli::kExitFailed);
  }
  PrintWarnings(*response);
  if (options.output == QuestionOutput::kYaml) {
    const auto document = codec::ParseJson(response->body, {.bytes_max = kAnswerBytesMax});
    if (!document.ok()) return cli::FailWith(document.error().Wrap("the answer"));
    PrintDocument(terminal, options.output, *document);
  } else {
    terminal.Write(response->body);
  }
  return ExitOf(ask::VerdictNamed(response->Get(ask::AskService::kVerdictHeader)));
}

}  // namespace berth::app
