// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/http_extender.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "berth/base/base64.h"
#include "berth/base/log.h"
#include "berth/base/shown_url.h"
#include "berth/shell/client/file.h"
#include "berth/shell/net/url.h"
#include "berth/shell/outside/extender_json.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::outside {

using scheduler::AskExtender;
using scheduler::ExtenderAnswer;
using scheduler::ExtenderVerb;

namespace {

constexpr std::size_t kVerbs = 4;
// A longer answer would hold up the loop while it is parsed.
constexpr std::size_t kParsedOnLoopMax = std::size_t{64} << 10;
// There may be as many bindings as the core has under way.
constexpr std::size_t kQueuedMax = 4096;

std::string_view NameOf(ExtenderVerb verb) {
  switch (verb) {
    case ExtenderVerb::kFilter: return "filter";
    case ExtenderVerb::kPrioritize: return "prioritize";
    case ExtenderVerb::kBind: return "bind";
    case ExtenderVerb::kPreempt: return "preempt";
  }
  return "";
}

// The PEM in `data`, or that of the file; empty if neither is given.
Expected<std::string> Pem(const std::string& data, const std::string& file, std::string_view field) {
  if (!data.empty()) {
    auto decoded = DecodeBase64(data);
    if (!decoded.ok()) return decoded.error().Wrap("tlsConfig." + std::string(field));
    return decoded;
  }
  return file.empty() ? Expected<std::string>(std::string()) : client::ReadSmallFile(file);
}

// TLS options from the same fields as in client-go.
Expected<net::TlsClientOptions> TlsOf(const config::Extender& extender) {
  const config::ExtenderTls tls = extender.tls.value_or(config::ExtenderTls());
  net::TlsClientOptions options;
  BERTH_ASSIGN_OR_RETURN(options.ca_pem, Pem(tls.ca_data, tls.ca_file, "caData"));
  // With enableHTTPS and without a CA upstream does not verify the extender.
  const bool is_insecure = tls.insecure || (extender.enable_https && options.ca_pem.empty());
  if (is_insecure && !options.ca_pem.empty())
    return InvalidError("specifying a root certificates file with the insecure flag is not allowed");
  options.verify_peer = !is_insecure;
  options.server_name = tls.server_name;
  const bool has_certificate = !tls.cert_data.empty() || !tls.cert_file.empty();
  const bool has_key = !tls.key_data.empty() || !tls.key_file.empty();
  if (has_certificate && has_key) {
    options.client_certificate_pem = [tls]() -> Expected<std::pair<std::string, std::string>> {
      BERTH_ASSIGN_OR_RETURN(std::string certificate, Pem(tls.cert_data, tls.cert_file, "certData"));
      BERTH_ASSIGN_OR_RETURN(std::string key, Pem(tls.key_data, tls.key_file, "keyData"));
      return std::pair(std::move(certificate), std::move(key));
    };
    if (const auto pair = options.client_certificate_pem(); !pair.ok()) return pair.error();
  } else if (has_certificate || has_key) {
    // Upstream ignores it without a message.
    log::Warning("extender", "A client certificate without its key, or a key alone, is not used",
                 {{"extender", ShownUrl(extender.url_prefix)}});
  }
  return options;
}

Expected<net::HttpClientOptions> ClientOptionsOf(const config::Extender& extender) {
  net::HttpClientOptions options;
  options.base_url = extender.url_prefix;
  BERTH_ASSIGN_OR_RETURN(const net::Url url, net::ParseUrl(options.base_url));
  if (url.scheme == "https") {
    BERTH_ASSIGN_OR_RETURN(options.tls, TlsOf(extender));
  }
  options.queued_requests_max = kQueuedMax;
  options.connect_timeout = std::min(options.connect_timeout, extender.http_timeout);
  return options;
}

}  // namespace

// Shared with the callbacks under way.
struct HttpExtenders::Shared {
  Shared(client::EventLoop& on, RunWork run, Done tell, tracing::Tracer* traces)
      : loop(on), run_work(std::move(run)), tracer(traces), done(std::move(tell)) {}

  client::EventLoop& loop;
  const RunWork run_work;
  tracing::Tracer* const tracer;
  std::mutex mutex;  // guards what follows, and that `done` is not called after Stop()
  const Done done;
  bool is_stopped = false;
};

class HttpExtenders::One : public std::enable_shared_from_this<One> {
 public:
  One(config::Extender extender, std::unique_ptr<net::Transport> transport, framework::Metrics& metrics,
      std::shared_ptr<Shared> shared)
      : extender_(std::move(extender)), transport_(std::move(transport)), shared_(std::move(shared)) {
    for (std::size_t i = 0; i < kVerbs; ++i) {
      const std::string verb(NameOf(static_cast<ExtenderVerb>(i)));
      const auto counter = [&](const char* result) {
        return &metrics.GetCounter("berth_extender_requests_total", "Questions to HTTP extenders.",
                                   {{"extender", shown_url_}, {"verb", verb}, {"result", result}});
      };
      counters_[i] = {counter("success"), counter("error")};
    }
  }

  const config::Extender& config() const { return extender_; }

  struct Question {
    std::uint64_t operation = 0;
    ExtenderVerb verb = ExtenderVerb::kFilter;
    std::string pod;  // "namespace/name", for logs
    std::vector<std::string> node_names;
    std::shared_ptr<const std::string> body;
    bool may_repeat = false;
    tracing::TracedCallPtr call = nullptr;  // null: not traced
  };

  // Says in the call's span which extender is asked.
  void AddUrl(const tracing::TracedCallPtr& call, ExtenderVerb verb) const {
    if (call != nullptr) call->span.attributes.push_back({"url.full", ShownUrl(extender_.UrlOf(VerbOf(verb)))});
  }

  void Send(std::shared_ptr<Question> question) {
    net::Request request;
    request.method = "POST";
    request.target = "/" + VerbOf(question->verb);
    request.headers.push_back({"Content-Type", "application/json"});
    request.headers.push_back({"Accept", "application/json"});
    tracing::AddTraceParent(question->call, request.headers);
    request.body = *question->body;
    net::SendOptions options;
    options.timeout = extender_.http_timeout;
    options.body_bytes_max = kAnswerBytesMax;
    // A weak pointer, since the transport keeps the callback: it would keep itself alive if no answer came.
    transport_->Send(std::move(request), options,
                     [weak = weak_from_this(), asked = std::move(question)](Expected<net::Response> response) {
                       const std::shared_ptr<One> self = weak.lock();
                       if (self == nullptr) return;
                       self->shared_->loop.Dispatch([self, asked, got = std::move(response)]() mutable {
                         self->Answered(asked, std::move(got));
                       });
                     });
  }

  void Ended(const Question& question, Expected<ExtenderAnswer> answer) {
    const auto& [succeeded, failed] = counters_[static_cast<std::size_t>(question.verb)];
    if (answer.ok()) {
      succeeded->Add();
    } else {
      failed->Add();
      LogFailure(question, answer.error());
    }
    if (question.call != nullptr)
      shared_->tracer->EndCall(question.call, answer.ok() ? std::string() : answer.error().message);
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->is_stopped) shared_->done({question.operation, std::move(answer)});
  }

 private:
  const std::string& VerbOf(ExtenderVerb verb) const {
    switch (verb) {
      case ExtenderVerb::kFilter: return extender_.filter_verb;
      case ExtenderVerb::kPrioritize: return extender_.prioritize_verb;
      case ExtenderVerb::kPreempt: return extender_.preempt_verb;
      case ExtenderVerb::kBind: break;
    }
    return extender_.bind_verb;
  }

  void Answered(const std::shared_ptr<Question>& question, Expected<net::Response> response) {
    const std::string url = ShownUrl(extender_.UrlOf(VerbOf(question->verb)));
    if (!response.ok()) {
      const Error& error = response.error();
      // A kept-alive connection may turn out to be closed. The request changes nothing, so it is sent once more.
      if (error.code == ErrorCode::kUnavailable && error.outcome_unknown && std::exchange(question->may_repeat, false))
        return Send(question);
      return Ended(*question, error.Wrap("Post \"" + url + "\""));
    }
    if (response->status != 200) {
      return Ended(*question,
                   Error{ErrorCode::kUnavailable, "failed " + VerbOf(question->verb) + " with extender at URL " + url +
                                                      ", code " + std::to_string(response->status)});
    }
    if (response->body.size() <= kParsedOnLoopMax) return Ended(*question, Parse(*question, response->body, url));
    shared_->run_work([self = shared_from_this(), question, url, body = std::move(response->body)] {
      auto answer = self->Parse(*question, body, url);
      self->shared_->loop.Post(
          [self, question, got = std::move(answer)]() mutable { self->Ended(*question, std::move(got)); });
    });
  }

  Expected<ExtenderAnswer> Parse(const Question& question, std::string_view body, const std::string& url) const {
    auto answer = ParseAnswer(question, body);
    // Errors that the extender reports, and those about its nodes, keep their text, as upstream.
    if (answer.ok() || answer.error().code == ErrorCode::kInternal || answer.error().message.starts_with("extender "))
      return answer;
    return answer.error().Wrap("the answer of " + url + " cannot be used");
  }

  Expected<ExtenderAnswer> ParseAnswer(const Question& question, std::string_view body) const {
    switch (question.verb) {
      case ExtenderVerb::kFilter:
        return ParseExtenderFilterResult(body, {shown_url_, extender_.node_cache_capable, question.node_names});
      case ExtenderVerb::kPrioritize: return ParseHostPriorityList(body);
      case ExtenderVerb::kPreempt: return ParseExtenderPreemptionResult(body);
      case ExtenderVerb::kBind: break;
    }
    return ParseExtenderBindingResult(body);
  }

  void LogFailure(const Question& question, const Error& error) {
    const Time now = shared_->loop.Now();
    if (logged_at_ && now - *logged_at_ < kLogPeriod) {
      ++silent_;
      return;
    }
    logged_at_ = now;
    log::Warning("extender", extender_.ignorable ? "An extender that may be ignored fails" : "An extender fails",
                 {{"extender", shown_url_},
                  {"verb", NameOf(question.verb)},
                  {"pod", question.pod},
                  {"error", error.message},
                  {"notLogged", std::exchange(silent_, 0)}});
  }

  const config::Extender extender_;
  const std::string shown_url_ = ShownUrl(extender_.url_prefix);
  const std::unique_ptr<net::Transport> transport_;
  const std::shared_ptr<Shared> shared_;
  std::array<std::pair<framework::Counter*, framework::Counter*>, kVerbs> counters_{};  // successes, failures
  std::optional<Time> logged_at_;
  std::uint64_t silent_ = 0;
};

Expected<std::unique_ptr<HttpExtenders>> HttpExtenders::Make(std::vector<config::Extender> extenders,
                                                             client::EventLoop& loop, const MakeClient& make_client,
                                                             RunWork run_work, framework::Metrics& metrics, Done done,
                                                             tracing::Tracer* tracer) {
  std::unique_ptr<HttpExtenders> made(new HttpExtenders());
  made->shared_ = std::make_shared<Shared>(loop, std::move(run_work), std::move(done), tracer);
  for (config::Extender& extender : extenders) {
    const std::string who = "extender \"" + ShownUrl(extender.url_prefix) + "\"";
    auto options = ClientOptionsOf(extender);
    if (!options.ok()) return options.error().Wrap(who);
    auto transport = make_client(std::move(*options));
    if (!transport.ok()) return transport.error().Wrap(who);
    const bool is_asked = extender.IsAskedInCycles();
    made->wants_pods_ |= is_asked;
    made->wants_nodes_ |= extender.GetsWholeNodes();
    made->wants_victims_ |= !extender.preempt_verb.empty() && !extender.node_cache_capable;
    made->extenders_.push_back(
        std::make_shared<One>(std::move(extender), std::move(*transport), metrics, made->shared_));
  }
  return made;
}

HttpExtenders::~HttpExtenders() { Stop(); }

void HttpExtenders::Stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_stopped = true;
}

void HttpExtenders::SetPod(const api::Pod& pod, const simdjson::dom::element& object) {
  if (!wants_pods_) return;
  const bool may_be_asked_about = std::any_of(extenders_.begin(), extenders_.end(), [&](const auto& one) {
    const config::Extender& extender = one->config();
    return extender.IsAskedInCycles() && extender.IsInterested(pod.spec);
  });
  const bool is_wanted = pod.spec.node_name.empty() ? may_be_asked_about : wants_victims_;
  if (!is_wanted) return RemovePod(pod.metadata.uid);
  pods_[pod.metadata.uid] = std::make_shared<const std::string>(ObjectForExtender(object));
}

void HttpExtenders::RemovePod(std::string_view uid) {
  if (const auto found = pods_.find(uid); found != pods_.end()) pods_.erase(found);
}

void HttpExtenders::SetNode(const api::Node& node, const simdjson::dom::element& object) {
  if (!wants_nodes_) return;
  nodes_[node.metadata.name] = {node.metadata.uid, std::make_shared<const std::string>(ObjectForExtender(object))};
}

void HttpExtenders::RemoveNode(std::string_view name, std::string_view uid) {
  const auto found = nodes_.find(name);
  if (found != nodes_.end() && found->second.uid == uid) nodes_.erase(found);
}

void HttpExtenders::Ask(AskExtender&& asked) {
  One& extender = *extenders_[asked.extender];
  auto question = std::make_shared<One::Question>();
  question->operation = asked.operation;
  question->verb = asked.verb;
  question->pod = asked.pod.namespace_name + "/" + asked.pod.name;
  if (shared_->tracer != nullptr) {
    question->call = shared_->tracer->BeginCall(asked.operation, "extender " + std::string(NameOf(asked.verb)));
    extender.AddUrl(question->call, asked.verb);
  }
  if (asked.verb == ExtenderVerb::kBind) {
    question->body = std::make_shared<const std::string>(ExtenderBindingArgs(asked.pod, asked.node_names.front()));
    return extender.Send(std::move(question));
  }
  question->may_repeat = true;
  const auto pod = pods_.find(asked.pod.uid);
  if (pod == pods_.end()) {
    // The core will soon get the pod's deletion.
    return extender.Ended(*question, Error{ErrorCode::kNotFound, "pod \"" + question->pod + "\" is gone"});
  }
  if (asked.verb == ExtenderVerb::kPreempt) {
    question->body = std::make_shared<const std::string>(
        extender.config().node_cache_capable
            ? ExtenderPreemptionArgsOfUids(*pod->second, asked.victims)
            : ExtenderPreemptionArgs(*pod->second, asked.victims, [this](const std::string& uid) {
                const auto victim = pods_.find(uid);
                return victim == pods_.end() ? nullptr : victim->second;
              }));
  } else if (extender.config().node_cache_capable) {
    question->body = std::make_shared<const std::string>(ExtenderArgsOfNames(*pod->second, asked.node_names));
    question->node_names = std::move(asked.node_names);
  } else {
    std::vector<std::shared_ptr<const std::string>> nodes;
    for (std::string& name : asked.node_names) {
      const auto node = nodes_.find(name);
      if (node == nodes_.end()) continue;  // it was just deleted
      nodes.push_back(node->second.json);
      question->node_names.push_back(std::move(name));
    }
    question->body = std::make_shared<const std::string>(ExtenderArgs(*pod->second, nodes));
  }
  extender.Send(std::move(question));
}

}  // namespace berth::outside
