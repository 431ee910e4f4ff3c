// SPDX-License-Identifier: Apache-2.0
// Endpoints: the paths of kube-scheduler 1.36's secure port. Requests are already authorized. The data come from
// functions that the composition root hands in; nothing here knows the scheduler. On its loop's thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"
#include "berth/shell/serving/health.h"
#include "berth/shell/serving/user.h"

namespace berth::serving {

// The functions are called on the server's thread and must not block. If one is empty, its path does not exist (404).
struct ServedState {
  // Checks of /healthz, /livez and /readyz, in the order of the response. If there are none: `ping`.
  std::vector<HealthCheck> healthz;
  std::vector<HealthCheck> livez;
  std::vector<HealthCheck> readyz;

  std::function<std::string()> metrics_text;  // the text exposition format 0.0.4
  std::function<void()> reset_metrics;        // DELETE /metrics
  // /metrics/resources, in the text exposition format. Calls back once, at once or later, on the server's thread.
  std::function<void(std::function<void(Expected<std::string>)>)> pod_resources;
  // GET of /explain and of what is below it. Calls back once, at once or later, on any thread.
  std::function<void(const net::Request&, const net::Target&, const std::string& path,
                     std::function<void(net::Response)>)>
      explain;
  // /ui and what is below it: answers through the writer, at once or later, on any thread, or by a stream. Of these
  // paths all for which `is_page_file` is true are for everybody: they hold no data.
  std::function<void(net::Request, const net::Target&, const std::string& path,
                     const std::shared_ptr<net::ResponseWriter>&)>
      page;
  std::function<bool(std::string_view path)> is_page_file;
  // /ask and what is below it, for users who may: answers through the writer, at once or later, on any thread.
  std::function<void(const User&, net::Request, const net::Target&, const std::string& path,
                     const std::shared_ptr<net::ResponseWriter>&)>
      ask;
  std::size_t ask_body_bytes_max = 0;  // of its requests
  std::function<bool()> is_leader;     // if it is false, /metrics/resources is empty; no function: always true

  std::function<std::string()> config_json;                   // the KubeSchedulerConfiguration in effect
  std::function<std::map<std::string, std::string>()> flags;  // value by name, as on the command line
  // PUT /debug/flags/v. Takes effect at once and returns the response's text, or what is wrong with the value.
  std::function<Expected<std::string>(std::string_view)> set_verbosity;

  std::string binary_version = "1.36.3";  // upstream's, whose behaviour berth has
  std::string emulation_version = "1.36";
  std::string program_version;  // our own, "berth 0.1.0"
  Time started;                 // by the wall clock
  bool is_profiling_enabled = true;
  bool has_status_page = true;  // /statusz
};

// "/ui" or below it.
inline bool IsPagePath(std::string_view path) { return path == "/ui" || path.starts_with("/ui/"); }

// "/ask" or below it.
inline bool IsAskPath(std::string_view path) { return path == "/ask" || path.starts_with("/ask/"); }

class Endpoints {
 public:
  using Done = std::function<void(net::Response)>;

  // `clock` must outlive it.
  Endpoints(ServedState state, const Clock& clock);

  // Whether the path is a file of the page, which is answered before anybody is asked who asks.
  bool IsForEverybody(const std::string& path) const {
    return state_.page && IsPagePath(path) && state_.is_page_file(path);
  }
  // Whether there is a page, which answers authorized requests for this path with AnswerPage().
  bool IsOfPage(const std::string& path) const { return state_.page && IsPagePath(path); }
  void AnswerPage(net::Request request, const net::Target& target, const std::string& path,
                  const std::shared_ptr<net::ResponseWriter>& writer) const {
    state_.page(std::move(request), target, path, writer);
  }
  // The same of questions, and AnswerQuestion().
  bool IsOfQuestions(const std::string& path) const { return state_.ask && IsAskPath(path); }
  void AnswerQuestion(const User& user, net::Request request, const net::Target& target, const std::string& path,
                      const std::shared_ptr<net::ResponseWriter>& writer) const {
    state_.ask(user, std::move(request), target, path, writer);
  }
  std::size_t AskBodyBytesMax() const { return state_.ask ? state_.ask_body_bytes_max : 0; }
  bool HasPage() const { return static_cast<bool>(state_.page); }

  // Answers an authorized request; `path` is decoded. `done` is called once, before this returns or later, on this
  // thread or, about /explain, on another.
  void Answer(const net::Request& request, const net::Target& target, const std::string& path, Done done);

 private:
  net::Response AnswerNow(const net::Request& request, const std::string& path);
  net::Response AnswerMetrics(const net::Request& request);
  net::Response AnswerHealthMetrics(const net::Request& request);
  net::Response AnswerDebug(const net::Request& request, const std::string& path);
  net::Response AnswerFlags(const net::Request& request) const;
  net::Response AnswerStatus(const net::Request& request) const;
  std::string ShownPaths() const;

  const ServedState state_;
  const Clock& clock_;
  HealthMetrics health_metrics_;
  const std::vector<HealthPath> health_paths_;
};

}  // namespace berth::serving
