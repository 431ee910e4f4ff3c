// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/cluster_reader.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "berth/codec/json_reader.h"
#include "berth/codec/json_slices.h"
#include "berth/framework/release.h"
#include "berth/whatif/state_builder.h"

namespace berth::whatif {
namespace {

using simdjson::dom::element;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr Duration kPageTimeout = std::chrono::seconds(60);
// Pods are most of what there is; meanwhile the other kinds are read.
constexpr std::size_t kListsAtOnce = 2;

// A queue of answers from the loop's thread to the reader's.
class Mailbox {
 public:
  struct Answer {
    std::size_t kind = 0;
    Expected<net::Response> response;
  };

  void Put(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    has_come_.notify_one();
  }
  std::optional<Answer> Wait() {
    std::unique_lock lock(mutex_);
    if (!has_come_.wait_for(lock, kTick, [this] { return !answers_.empty(); })) return std::nullopt;
    std::optional<Answer> answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_come_;
  std::deque<Answer> answers_;
};

constexpr std::size_t NumberOf(framework::ObjectKind kind) { return 2 + static_cast<std::size_t>(kind); }
constexpr std::size_t kPodGroups = NumberOf(framework::ObjectKind::kPodGroup);
constexpr std::size_t kCompositePodGroups = NumberOf(framework::ObjectKind::kCompositePodGroup);
// The kind number of the answer to /version, which has no kind.
constexpr std::size_t kVersion = kKindCount;

class ClusterReading {
 public:
  ClusterReading(client::RestClient& rest, const ClusterReadOptions& options)
      : rest_(rest), options_(options), state_({options.keeps_objects, options.keeps_pod_details}) {}

  Expected<ClusterState> Run(const Clock& clock) {
    Ask(kVersion, "/version");
    for (std::size_t i = 0; i < kListsAtOnce; ++i) BeginNextList();
    while (waiting_ > 0) {
      if (options_.is_interrupted && options_.is_interrupted())
        return Error{ErrorCode::kCancelled, "interrupted while the cluster was being read"};
      auto answer = mailbox_->Wait();
      if (!answer) continue;
      --waiting_;
      if (answer->kind == kVersion) {
        OnVersion(answer->response);
      } else if (answer->response.ok()) {
        BERTH_RETURN_IF_ERROR(OnPage(answer->kind, std::move(answer->response->body)));
      } else {
        BERTH_RETURN_IF_ERROR(OnFailure(answer->kind, answer->response.error()));
      }
    }
    ClusterState state = std::move(state_).Take();
    state.source = options_.source;
    state.kubernetes_version = std::move(kubernetes_version_);
    state.read_at = clock.WallNow();
    return state;
  }

 private:
  struct List {
    bool is_continued = false;  // the page that is asked for is not its first
    int pages = 0;
    int restarts = 0;
    int release_minor = framework::kNewestRelease;  // whose API version is asked for
  };

  void Ask(std::size_t kind, std::string target) {
    ++waiting_;
    net::Request request;
    request.target = std::move(target);
    client::RestOptions how;
    how.timeout = kPageTimeout;
    rest_.Do(std::move(request), how, [mailbox = mailbox_, kind](Expected<net::Response> response) {
      mailbox->Put({kind, std::move(response)});
    });
  }

  void AskPage(std::size_t kind, std::string_view continue_token) {
    lists_.at(kind).is_continued = !continue_token.empty();
    Ask(kind, client::WithQuery(KindPath(kind, lists_.at(kind).release_minor),
                                {{"fieldSelector", kind == kPods ? PodSelector() : ""},
                                 {"limit", std::to_string(options_.page_size)},
                                 {"continue", std::string(continue_token)}}));
  }

  // As the scheduler does: finished pods look like deleted ones. They are read for those who move pods, and by a sink,
  // which may serve them later.
  std::string PodSelector() const {
    const bool reads_finished = options_.keeps_pod_details || options_.sink != nullptr;
    return reads_finished ? "" : "status.phase!=Succeeded,status.phase!=Failed";
  }

  bool IsRead(std::size_t kind) const {
    if (kind == kCompositePodGroups) return options_.reads_composite_pod_groups;
    if (kind == kResourceQuotas) return options_.reads_quotas;
    return kind != kPodGroups || options_.reads_pod_groups;
  }
  // Whether an answer may be wrong because the server does not have the kind.
  bool IsMissed(std::size_t kind) const {
    const bool is_of_groups = kind == kPodGroups || kind == kCompositePodGroups;
    return IsServedByAll(kind) || (is_of_groups && options_.sink == nullptr);
  }

  void BeginNextList() {
    while (next_ < kKindCount && !IsRead(next_)) ++next_;
    if (next_ < kKindCount) AskPage(next_++, "");
  }

  // The version is not needed for any decision: without it, the state has none.
  void OnVersion(const Expected<net::Response>& response) {
    if (!response.ok()) return;
    const auto version = reader_.Parse(response->body);
    if (version.ok()) kubernetes_version_ = codec::StringOrEmpty(*version, "gitVersion");
  }

  Expected<void> OnFailure(std::size_t kind, const Error& error) {
    const framework::ObjectKindInfo& info = KindInfo(kind);
    if (error.code == ErrorCode::kGone && lists_.at(kind).is_continued) {
      if (lists_.at(kind).restarts++ == options_.restarts_max)
        return error.Wrap("listing " + std::string(info.resource) + ", whose pages expire before they are read");
      lists_.at(kind).pages = 0;
      state_.Forget(kind);
      if (options_.sink != nullptr) BERTH_RETURN_IF_ERROR(options_.sink->RestartList(kind));
      AskPage(kind, "");
      return {};
    }
    const bool is_missing = error.code == ErrorCode::kNotFound;
    if (is_missing && AskInOlderVersion(kind)) return {};
    if ((!is_missing && error.code != ErrorCode::kForbidden) || kind == kNodes || kind == kPods) {
      Error failure = error.Wrap("listing " + std::string(info.resource));
      if (error.code == ErrorCode::kForbidden) {
        failure.message += "; needed is the right to list " + std::string(info.resource) +
                           " in the whole cluster: a ClusterRole with verbs [list], apiGroups [\"\"], resources [" +
                           std::string(info.resource) + "]";
      }
      return failure;
    }
    // A page before this one may have come: half of a kind would be worse than nothing of it.
    state_.Forget(kind);
    if (options_.sink != nullptr && lists_.at(kind).pages > 0) BERTH_RETURN_IF_ERROR(options_.sink->RestartList(kind));
    if (!is_missing || IsMissed(kind))
      state_.LeaveOut(kind, (is_missing ? "not served: " : "forbidden: ") + error.message);
    BeginNextList();
    return {};
  }

  // Asks for the kind as the next older release serves it. False: all serve it in the same way.
  bool AskInOlderVersion(std::size_t kind) {
    int& minor = lists_.at(kind).release_minor;
    const std::string path = KindPath(kind, minor);
    while (minor > framework::kOldestRelease && KindPath(kind, minor) == path) --minor;
    if (KindPath(kind, minor) == path) return false;
    AskPage(kind, "");
    return true;
  }

  Expected<void> OnPage(std::size_t kind, std::string body) {
    const auto page = reader_.Parse(body);
    // One object may spoil the whole page: what cannot be parsed is taken apart.
    const auto failed = page.ok() ? TakePage(kind, *page, body) : TakeSlices(kind, body, page.error());
    if (!failed.ok()) return failed;
    if (options_.progress) options_.progress(KindInfo(kind).resource, state_.count(kind));
    return {};
  }

  Expected<void> TakePage(std::size_t kind, const element& page, std::string& body) {
    const auto metadata = codec::FindMember(page, "metadata");
    const auto items = codec::FindMember(page, "items");
    if (!metadata || !items || (!items->is_array() && !items->is_null())) return NoList(kind);
    BERTH_RETURN_IF_ERROR(AskOn(kind, codec::StringOrEmpty(*metadata, "continue")));
    std::string().swap(body);  // the reader has its own copy
    if (items->is_null()) return {};
    const simdjson::dom::array objects = items->get_array().value();
    for (const element object : objects) BERTH_RETURN_IF_ERROR(TakeObject(kind, object));
    return {};
  }

  Expected<void> TakeSlices(std::size_t kind, std::string_view body, const Error& problem) {
    const auto metadata = codec::FindSlice(body, "metadata");
    const auto list = codec::FindSlice(body, "items");
    const auto items = list ? codec::SliceArray(*list) : std::nullopt;
    if (!metadata || !items) return problem.Wrap("listing " + std::string(KindInfo(kind).resource));
    {
      const auto read = reader_.Parse(*metadata);
      if (!read.ok()) return problem.Wrap("listing " + std::string(KindInfo(kind).resource));
      BERTH_RETURN_IF_ERROR(AskOn(kind, codec::StringOrEmpty(*read, "continue")));
    }
    for (const codec::JsonSlice& item : *items) {
      const auto object = reader_.Parse(item.value);
      if (object.ok()) {
        BERTH_RETURN_IF_ERROR(TakeObject(kind, *object));
      } else {
        state_.AddUnreadable(kind, NameUnreadable(kind, item.value, object.error()));
      }
    }
    return {};
  }

  static Error NameUnreadable(std::size_t kind, std::string_view object, const Error& error) {
    const std::string_view metadata = codec::FindSlice(object, "metadata").value_or("");
    const auto text = [&](std::string_view key) {
      return codec::PlainText(codec::FindSlice(metadata, key).value_or(""));
    };
    std::string name(KindInfo(kind).name);
    name += ' ';
    if (!text("namespace").empty()) name.append(text("namespace")).append("/");
    return InvalidError(name.append(text("name")).append(": ").append(error.message));
  }

  Expected<void> NoList(std::size_t kind) const {
    return Error{ErrorCode::kInternal, "listing " + std::string(KindInfo(kind).resource) +
                                           ": the answer is no list: it has no metadata or no items"};
  }

  // Asks for what comes next, so that the server is at work while this page is decoded.
  Expected<void> AskOn(std::size_t kind, std::string_view continue_token) {
    if (continue_token.empty()) {
      BeginNextList();
      return {};
    }
    if (++lists_.at(kind).pages == options_.pages_max)
      return Error{ErrorCode::kTooLarge, "listing " + std::string(KindInfo(kind).resource) + ": the list has no end"};
    AskPage(kind, continue_token);
    return {};
  }

  Expected<void> TakeObject(std::size_t kind, const element& object) {
    if (!state_.Add(kind, object) || options_.sink == nullptr) return {};
    return options_.sink->Take(kind, object);
  }

  client::RestClient& rest_;
  const ClusterReadOptions& options_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  StateBuilder state_;
  codec::JsonReader reader_;
  std::array<List, kKindCount> lists_;
  std::size_t next_ = 0;     // kind whose list begins next
  std::size_t waiting_ = 0;  // requests without an answer
  std::string kubernetes_version_;
};

}  // namespace

Expected<ClusterState> ReadCluster(client::RestClient& rest, const Clock& clock, const ClusterReadOptions& options) {
  return ClusterReading(rest, options).Run(clock);
}

}  // namespace berth::whatif
