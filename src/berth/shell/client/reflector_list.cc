// Lists of a Reflector: page by page, in JSON or in protobuf, and what follows from their end.
#include <algorithm>

#include "berth/base/log.h"
#include "berth/shell/client/reflector_impl.h"

namespace berth::client {
namespace {

// Pages of one list. At 500 objects each this is far beyond what etcd holds; a server that hands out continue tokens
// for ever is broken.
constexpr int kPagesMax = 100'000;
constexpr int kPageTries = 4;  // of a page after the first, whose continue token is worth keeping
constexpr Duration kPageTimeout = std::chrono::seconds(60);

constexpr std::string_view kProtobufListTypes = "application/vnd.kubernetes.protobuf, application/json";

}  // namespace

void Reflector::Impl::StartList() {
  if (streams_list_) return StreamList();
  StartPages(true);
}

void Reflector::Impl::StartPages(bool in_pages) {
  BeginPhase();
  store_.BeginRound();
  in_pages_ = in_pages;
  pages_ = 0;
  page_failures_ = 0;
  continue_.clear();
  RequestPage();
}

void Reflector::Impl::RequestPage() {
  const int size = takes_protobuf_ ? options_.streamed_page_size : options_.page_size;
  net::Request request;
  request.target = WithQuery(options_.path, {{"labelSelector", options_.label_selector},
                                             {"fieldSelector", options_.field_selector},
                                             {"limit", in_pages_ ? std::to_string(size) : ""},
                                             {"continue", continue_}});
  if (takes_protobuf_) return StreamPage(std::move(request));
  const RestOptions rest_options{
      .timeout = kPageTimeout, .tries = continue_.empty() ? 1 : kPageTries, .body_bytes_max = options_.list_bytes_max};
  rest_.Do(std::move(request), rest_options,
           InPhase([](Impl& self, Expected<net::Response> page) { self.OnPage(std::move(page)); }));
}

// A page in protobuf, decoded while it arrives. A server that has no protobuf answers with JSON, which is collected.
void Reflector::Impl::StreamPage(net::Request request) {
  BeginPhase();
  const std::uint64_t phase = phase_;
  status_ = 0;
  page_body_.clear();
  list_reader_.emplace([this, phase](std::string_view item) { return TakeItem(item, phase); }, options_.line_bytes_max);
  request.headers.push_back({"Accept", std::string(kProtobufListTypes)});
  RestStreamCallbacks callbacks;
  callbacks.on_head = InPhase([](Impl& self, const net::Response& head) { self.OnHead(head); });
  callbacks.on_bytes = InPhase([](Impl& self, std::string_view bytes) { self.OnPageBytes(bytes); });
  callbacks.on_end = InPhase([](Impl& self, Expected<void> result) { self.OnPageEnd(std::move(result)); });
  auto stream = rest_.Stream(std::move(request), {.head_timeout = kPageTimeout}, std::move(callbacks));
  if (IsPhase(phase)) stream_ = std::move(stream);
}

// One object of a list in protobuf. An error ends the reading.
Expected<void> Reflector::Impl::TakeItem(std::string_view item, std::uint64_t phase) {
  auto meta = api::ReadProtobufMeta(item);
  if (!meta.ok()) return meta.error();
  store_.Upsert({*meta, nullptr, item}, Source::kList);
  if (!IsPhase(phase)) return Error{ErrorCode::kCancelled, "the reflector was stopped"};
  return {};
}

void Reflector::Impl::OnPageBytes(std::string_view bytes) {
  const std::uint64_t phase = phase_;
  if (!is_protobuf_) {
    if (page_body_.size() + bytes.size() > options_.list_bytes_max) {
      return FailList(
          {ErrorCode::kTooLarge, "the list is longer than " + std::to_string(options_.list_bytes_max) + " bytes"});
    }
    page_body_.append(bytes);
    return;
  }
  const auto taken = list_reader_->Feed(bytes);
  if (!taken.ok() && IsPhase(phase)) FailList(taken.error());
}

void Reflector::Impl::OnPageEnd(Expected<void> result) {
  if (!result.ok()) return FailPage(result.error());
  page_failures_ = 0;
  if (!is_protobuf_) {
    takes_protobuf_ = false;
    return OnPage(net::Response{200, {}, std::exchange(page_body_, {})});
  }
  ++stats_.pages;
  const auto whole = list_reader_->Finish();
  if (!whole.ok()) return FailList(whole.error());
  if (list_reader_->resource_version().empty()) {
    return FailList(InvalidError("the answer is no list: it has no metadata.resourceVersion"));
  }
  resource_version_listed_ = list_reader_->resource_version();
  continue_ = list_reader_->continue_token();
  list_reader_.reset();
  NextPage(continue_.empty(), phase_);
}

void Reflector::Impl::FailPage(const Error& error) {
  if (IsTypeRefused()) {
    log::Info("client", "Listing as JSON: the API server refuses protobuf", {{"resource", options_.name}});
    takes_protobuf_ = false;
    return RequestPage();
  }
  const bool is_passing = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                          error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kUnauthorized;
  if (!is_passing || continue_.empty() || ++page_failures_ >= kPageTries) return OnPage(error);
  // The pages before it are worth keeping; what this one has told already will be found known.
  After(Backoff(page_failures_ - 1, error), [](Impl& self) { self.RequestPage(); });
}

void Reflector::Impl::OnPage(Expected<net::Response> page) {
  const std::uint64_t phase = phase_;
  if (!page.ok()) {
    if (page.error().code == ErrorCode::kGone && in_pages_ && !continue_.empty()) {
      // The token has outlived the server's history. Pages would meet the same end again, so ask for all at once, as
      // client-go does. What the pages have told already is in the store, and the new list corrects it.
      log::Info("client", "Listing again in one piece: the list's pages expired", {{"resource", options_.name}});
      ++stats_.failures;
      return StartPages(false);
    }
    return FailList(page.error());
  }
  ++stats_.pages;
  const Expected<bool> is_last = TakePage(page->body, phase);
  if (!IsPhase(phase)) return;
  if (!is_last.ok()) return FailList(is_last.error());
  NextPage(*is_last, phase);
}

void Reflector::Impl::NextPage(bool is_last, std::uint64_t phase) {
  if (!is_last) {
    if (++pages_ >= kPagesMax) return FailList(InvalidError("the list does not end: the server may be broken"));
    return RequestPage();
  }
  if (FinishList(resource_version_listed_, phase)) StartWatch();
}

// Takes in the objects of a page. True: it was the last one.
Expected<bool> Reflector::Impl::TakePage(const std::string& body, std::uint64_t phase) {
  auto page = reader_.Parse(body);
  if (!page.ok()) return page.error().Wrap("while reading the list \"" + Shown(body) + '"');
  const auto metadata = codec::FindMember(*page, "metadata");
  const auto items = codec::FindMember(*page, "items");
  const std::string_view version = metadata ? codec::StringOrEmpty(*metadata, "resourceVersion") : std::string_view();
  if (version.empty() || !items || (!items->is_array() && !items->is_null())) {
    return InvalidError("the answer is no list: it has no metadata.resourceVersion or no items: \"" + Shown(body) +
                        '"');
  }
  if (items->is_array()) {
    // Not in the loop's head: value() of a temporary refers into it.
    const simdjson::dom::array objects = items->get_array().value();
    for (const simdjson::dom::element item : objects) {
      store_.Upsert({ReadJsonMeta(item), &item, {}}, Source::kList);
      if (!IsPhase(phase)) return true;
    }
  }
  resource_version_listed_ = std::string(version);
  continue_ = std::string(codec::StringOrEmpty(*metadata, "continue"));
  return continue_.empty();
}

// False when a handler has stopped us.
bool Reflector::Impl::FinishList(const std::string& version, std::uint64_t phase) {
  if (!store_.EndRound() || !IsPhase(phase)) return false;
  ++stats_.lists;
  list_failures_ = 0;
  if (std::exchange(is_missing_, false)) {
    log::Info("client", "The API server serves this kind now", {{"resource", options_.name}});
  }
  reader_ = codec::JsonReader();  // Pages need megabytes, watch events do not.
  resource_version_ = version;
  return TellSynced(phase);
}

// False when the handler has stopped us.
bool Reflector::Impl::TellSynced(std::uint64_t phase) {
  if (is_synced_) return true;
  is_synced_ = true;
  if (handler_.on_synced) handler_.on_synced();
  return IsPhase(phase);
}

// The server does not know the resource. What was known before stays, as after any other failure.
void Reflector::Impl::MissList(const Error& error) {
  const std::uint64_t phase = phase_;
  const Duration delay =
      options_.missing_retry + Duration(random_.Below(static_cast<std::uint64_t>(options_.missing_retry.count()) + 1));
  ++stats_.failures;
  list_failures_ = 0;
  if (!std::exchange(is_missing_, true)) {
    log::Warning("client", "The API server does not serve this kind: there is nothing of it until it does",
                 {{"resource", options_.name}, {"path", options_.path}});
    if (handler_.on_failure) handler_.on_failure(error);
    if (!IsPhase(phase)) return;
  }
  if (!TellSynced(phase)) return;
  After(delay, [](Impl& self) { self.StartList(); });
}

void Reflector::Impl::FailList(const Error& error) {
  if (error.code == ErrorCode::kNotFound && options_.may_be_missing) return MissList(error);
  const Duration delay = Backoff(list_failures_++, error);
  Report(error.Wrap("while listing " + options_.name), delay);
  if (is_stopped_) return;
  After(delay, [](Impl& self) { self.StartList(); });
}

}  // namespace berth::client
