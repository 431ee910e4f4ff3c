// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/provisioning_feed.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/informer.h"

namespace berth::provisioning {
namespace {

namespace json = codec::json;

// An object that pods are made from, as it is.
struct Document {
  std::string kind;
  std::string key;  // "namespace/name"
  std::string namespace_name;
  std::string name;
  json::object object;
};

struct DocumentKind {
  const char* kind;
  const char* resource;
  const char* path;
};
// How long a missing right holds decisions back at the start.
constexpr Duration kForbiddenMax = std::chrono::seconds(45);

constexpr std::string_view kPodTemplate = "PodTemplate";
constexpr DocumentKind kDocumentKinds[] = {
    {kPodTemplate.data(), "podtemplates", "/api/v1/podtemplates"},
    {"PriorityClass", "priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses"},
    {"RuntimeClass", "runtimeclasses", "/apis/node.k8s.io/v1/runtimeclasses"},
    {"ResourceClaimTemplate", "resourceclaimtemplates", "/apis/resource.k8s.io/v1/resourceclaimtemplates"},
};

Expected<std::shared_ptr<const Document>> DecodeDocument(const char* kind, const simdjson::dom::element& object) {
  BERTH_ASSIGN_OR_RETURN(json::value parsed, codec::ParseJson(simdjson::minify(object)));
  auto document = std::make_shared<Document>();
  document->kind = kind;
  if (!parsed.is_object()) return InvalidError("no object");
  document->object = std::move(parsed.get_object());
  if (const json::value* const metadata = document->object.if_contains("metadata"); metadata && metadata->is_object()) {
    const auto text = [&](std::string_view key) {
      const json::value* const value = metadata->get_object().if_contains(key);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
    };
    document->namespace_name = text("namespace");
    document->name = text("name");
  }
  document->key = document->namespace_name + "/" + document->name;
  return std::shared_ptr<const Document>(std::move(document));
}

class ProvisioningFeed final : public runner::BookingFeed, public ControllerOutside {
 public:
  using PushInput = std::function<void(scheduler::Input)>;

  ProvisioningFeed(client::RestClient& rest, client::RestClient& events_rest, PushInput push, FeedOptions options)
      : rest_(rest),
        push_(std::move(push)),
        options_(std::move(options)),
        writer_(rest),
        recorder_(events_rest, RecorderOptions(options_)),
        controller_(*this, options_.controller),
        is_awaited_(1 + std::size(kDocumentKinds), true) {
    MakeRequestInformer();
    for (const DocumentKind& kind : kDocumentKinds) MakeDocumentInformer(kind, documents_.size() + 1);
  }
  ~ProvisioningFeed() override {
    *alive_ = false;
    if (cancel_wake_) cancel_wake_();
  }

  void Start() override {
    requests_->Start();
    for (const auto& informer : documents_) informer->Start();
  }

  void Lead(bool reads_anew, std::function<void()> on_ready) override {
    on_ready_ = std::move(on_ready);
    if (!reads_anew) return BeginIfRead();
    is_awaited_.assign(is_awaited_.size(), true);
    requests_->Refresh([this] { Arrived(0); });
    for (std::size_t i = 0; i < documents_.size(); ++i) documents_[i]->Refresh([this, i] { Arrived(i + 1); });
  }

  void Stop() override {
    requests_->Stop();
    for (const auto& informer : documents_) informer->Stop();
    is_stopped_ = true;
  }

  void Take(scheduler::BookingReport&& report) override {
    controller_.Take(report, Now());
    Arm();
  }

  void Push(scheduler::Input input) override {
    if (!is_stopped_) push_(std::move(input));
  }

  void PatchStatus(const ProvisioningRequest& request, std::string body) override {
    client::ObjectTarget target{std::string(kGroupVersion), std::string(kResource), request.namespace_name,
                                request.name, "status"};
    writer_.Patch(target, client::PatchFormat::kMerge, std::move(body),
                  [this, alive = alive_, key = request.Key(), uid = request.uid](const Expected<std::string>& answer) {
                    if (!*alive) return;
                    controller_.Written(key, uid, answer.ok() ? std::nullopt : std::optional<Error>(answer.error()),
                                        Now());
                    Arm();
                  });
  }

  void RecordEvent(const ProvisioningRequest& request, bool is_warning, std::string reason, std::string note) override {
    client::Event event;
    event.is_warning = is_warning;
    event.reason = std::move(reason);
    event.action = "Provisioning";
    event.note = std::move(note);
    event.regarding = {
        std::string(kGroupVersion), "ProvisioningRequest", request.namespace_name, request.name, request.uid,
        request.resource_version};
    event.scheduler_name = options_.scheduler_name;
    recorder_.Record(std::move(event));
  }

 private:
  static client::EventRecorderOptions RecorderOptions(const FeedOptions& options) {
    client::EventRecorderOptions recorder;
    recorder.hostname = options.hostname;
    recorder.seed = options.seed + 100;
    return recorder;
  }

  Time Now() const { return rest_.loop().WallNow(); }

  void MakeRequestInformer() {
    client::Informer<ProvisioningRequest>::Options options;
    options.name = kResource;
    options.path = "/apis/" + std::string(kGroupVersion) + "/" + std::string(kResource);
    options.may_be_missing = true;
    options.seed = options_.seed + 101;
    options.decode = DecodeProvisioningRequest;
    client::Informer<ProvisioningRequest>::Handler handler;
    handler.on_add = [this](RequestPtr request) { SetRequest(std::move(request)); };
    handler.on_update = [this](const RequestPtr&, RequestPtr request) { SetRequest(std::move(request)); };
    handler.on_delete = [this](const RequestPtr& gone) {
      controller_.RequestGone(gone->Key());
      Arm();
    };
    handler.on_synced = [this] { Arrived(0); };
    handler.on_failure = [this](const Error& error) { DoWithout(0, "provisioningrequests", error); };
    requests_ = std::make_unique<client::Informer<ProvisioningRequest>>(rest_, std::move(options), std::move(handler));
  }

  void MakeDocumentInformer(const DocumentKind& kind, std::size_t index) {
    client::Informer<Document>::Options options;
    options.name = kind.resource;
    options.path = kind.path;
    options.may_be_missing = true;
    options.keeps_objects = false;
    options.seed = options_.seed + 101 + index;
    options.decode = [name = kind.kind](const simdjson::dom::element& object) { return DecodeDocument(name, object); };
    client::Informer<Document>::Handler handler;
    handler.on_add = [this](const std::shared_ptr<const Document>& document) { SetDocument(*document); };
    handler.on_update = [this](const auto&, const std::shared_ptr<const Document>& document) {
      SetDocument(*document);
    };
    handler.on_gone = [this, name = kind.kind](const client::Reflector::Identity& gone) {
      const std::string key = std::string(gone.namespace_name) + "/" + std::string(gone.name);
      if (name == kPodTemplate) {
        controller_.sources().templates.erase(key);
      } else {
        controller_.sources().admission.erase({std::string(name), key});
      }
    };
    handler.on_synced = [this, index] { Arrived(index); };
    handler.on_failure = [this, index, resource = kind.resource](const Error& error) {
      DoWithout(index, resource, error);
    };
    documents_.push_back(std::make_unique<client::Informer<Document>>(rest_, std::move(options), std::move(handler)));
  }

  void SetRequest(RequestPtr request) {
    controller_.SetRequest(std::move(request), Now());
    Arm();
  }

  void SetDocument(const Document& document) {
    if (document.kind == kPodTemplate) {
      controller_.sources().templates[document.key] = document.object;
    } else {
      controller_.sources().admission[{document.kind, document.key}] = {document.kind, document.namespace_name,
                                                                        document.name, document.object};
    }
  }

  // What this informer reads is here.
  void Arrived(std::size_t index) {
    is_awaited_[index] = false;
    BeginIfRead();
  }

  // Without the right to read a kind no room is promised, but pods are scheduled all the same. A server that has just
  // begun may refuse what it allows later.
  void DoWithout(std::size_t index, const char* resource, const Error& error) {
    if (error.code != ErrorCode::kForbidden || !is_awaited_[index]) return;
    if (!refused_since_) refused_since_ = rest_.loop().Now();
    if (rest_.loop().Now() - *refused_since_ < kForbiddenMax) return;
    log::ErrorLine("provisioning", "ProvisioningRequests are not answered as they should be, for lack of a right",
                   {{"resource", resource}, {"err", error.message}});
    Arrived(index);
  }

  void BeginIfRead() {
    if (on_ready_ && std::ranges::none_of(is_awaited_, std::identity())) Begin();
  }

  void Begin() {
    controller_.Lead(Now());
    Arm();
    std::exchange(on_ready_, nullptr)();
  }

  // Sets the timer for what is due next.
  void Arm() {
    const std::optional<Time> wake = controller_.NextWake();
    if (wake == armed_for_ && cancel_wake_) return;
    if (cancel_wake_) std::exchange(cancel_wake_, nullptr)();
    armed_for_ = wake;
    if (!wake) return;
    const Duration delay = std::max(*wake - Now(), Duration{std::chrono::milliseconds(1)});
    cancel_wake_ = rest_.loop().PostAfter(delay, [this, alive = alive_] {
      if (!*alive) return;
      cancel_wake_ = nullptr;
      controller_.Tick(Now());
      Arm();
    });
  }

  client::RestClient& rest_;
  const PushInput push_;
  const FeedOptions options_;
  std::atomic<bool> is_stopped_{false};
  client::ApiWriter writer_;
  client::EventRecorder recorder_;
  Controller controller_;
  std::vector<bool> is_awaited_;  // whether a list of this informer is awaited: the requests', then the documents'
  std::optional<Time> refused_since_;
  std::function<void()> on_ready_;
  std::optional<Time> armed_for_;
  std::function<void()> cancel_wake_;
  std::unique_ptr<client::Informer<ProvisioningRequest>> requests_;
  std::vector<std::unique_ptr<client::Informer<Document>>> documents_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

runner::MakeBookingFeed FeedMaker(FeedOptions options) {
  return [options = std::move(options)](client::RestClient& rest, client::RestClient& events_rest,
                                        std::function<void(scheduler::Input)> push) {
    return std::make_unique<ProvisioningFeed>(rest, events_rest, std::move(push), options);
  };
}

}  // namespace berth::provisioning
