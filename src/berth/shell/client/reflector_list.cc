// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_list.h"

#include <algorithm>
#include <utility>

#include "berth/base/log.h"
#include "berth/codec/json_slices.h"

namespace berth::client {
namespace {

// The most pages of one list, which is far beyond what etcd holds at 500 objects a page. It ends the list of a broken
// server that hands out continue tokens for ever.
constexpr int kPagesMax = 100'000;
// A list in JSON is collected before it is read. A page of 500 objects has some MiB; a list that has to come in one
// piece may have hundreds. What all lists collect at the same time is bounded by RestClientOptions::lists_bytes_max.
constexpr std::size_t kPageBytesMax = std::size_t{64} << 20;
constexpr std::size_t kWholeBytesMax = std::size_t{512} << 20;
constexpr int kPageTries = 4;  // of each page after the first, so that the pages before it need not be read again
constexpr Duration kPageTimeout = std::chrono::seconds(60);

constexpr std::string_view kProtobufListTypes = "application/vnd.kubernetes.protobuf, application/json";

}  // namespace

void ReflectorList::StartPages(bool in_pages) {
  shared_.phases.Begin();
  shared_.store.BeginRound();
  in_pages_ = in_pages;
  pages_ = 0;
  page_failures_ = 0;
  continue_.clear();
  RequestPage();
}

std::size_t ReflectorList::BytesMax() const {
  return std::min(shared_.options.list_bytes_max, in_pages_ ? kPageBytesMax : kWholeBytesMax);
}

void ReflectorList::RequestPage() {
  const int size = shared_.takes_protobuf ? shared_.options.streamed_page_size : shared_.options.page_size;
  net::Request request;
  request.target = WithQuery(shared_.options.path, {{"labelSelector", shared_.options.label_selector},
                                                    {"fieldSelector", shared_.options.field_selector},
                                                    {"limit", in_pages_ ? std::to_string(size) : ""},
                                                    {"continue", continue_}});
  if (shared_.takes_protobuf) return StreamPage(std::move(request));
  const RestOptions rest_options{.timeout = kPageTimeout,
                                 .tries = continue_.empty() ? 1 : kPageTries,
                                 .body_bytes_max = BytesMax(),
                                 .is_list = true};
  shared_.rest.Do(std::move(request), rest_options,
                  shared_.phases.InPhase([this](Expected<net::Response> page) { OnPage(std::move(page)); }));
}

// Asks for a page in protobuf, which is decoded while it arrives. A server without protobuf answers in JSON: that has
// to be collected, so the page is asked for again, among the lists that share a bound.
void ReflectorList::StreamPage(net::Request request) {
  shared_.phases.Begin();
  const std::uint64_t phase = shared_.phases.current();
  shared_.status = 0;
  is_checked_ = false;
  list_reader_.emplace([this, phase](std::string_view item) { return TakeItem(item, phase); },
                       shared_.options.line_bytes_max);
  request.headers.push_back({"Accept", std::string(kProtobufListTypes)});
  RestStreamCallbacks callbacks;
  callbacks.on_head = shared_.phases.InPhase([this](const net::Response& head) { OnPageHead(head); });
  callbacks.on_bytes = shared_.phases.InPhase([this](std::string_view bytes) { OnPageBytes(bytes); });
  callbacks.on_end = shared_.phases.InPhase([this](Expected<void> result) { OnPageEnd(std::move(result)); });
  auto stream = shared_.rest.Stream(std::move(request), {.head_timeout = kPageTimeout}, std::move(callbacks));
  shared_.phases.KeepStream(phase, std::move(stream));
}

// Takes one object of a list in protobuf. An error ends the reading.
Expected<void> ReflectorList::TakeItem(std::string_view item, std::uint64_t phase) {
  // The list's version comes before its first item.
  if (const std::string& version = list_reader_->resource_version(); !is_checked_ && !version.empty()) {
    is_checked_ = true;
    BERTH_RETURN_IF_ERROR(shared_.CheckListVersion(version));
  }
  auto meta = api::ReadProtobufMeta(item);
  if (!meta.ok()) return meta.error();
  shared_.store.Upsert({*meta, nullptr, item}, ReflectorStore::Source::kList);
  if (!shared_.phases.Is(phase)) return Error{ErrorCode::kCancelled, "the reflector was stopped"};
  return {};
}

void ReflectorList::OnPageHead(const net::Response& head) {
  shared_.OnHead(head);
  const bool is_json = head.status / 100 == 2 && !shared_.is_protobuf;
  if (is_json) ListAsJson("the API server answers in JSON");
}

void ReflectorList::ListAsJson(std::string_view why) {
  log::Info("client", "Listing as JSON: " + std::string(why), {{"resource", shared_.options.name}});
  shared_.phases.Begin();
  shared_.takes_protobuf = false;
  RequestPage();
}

void ReflectorList::OnPageBytes(std::string_view bytes) {
  const std::uint64_t phase = shared_.phases.current();
  const auto taken = list_reader_->Feed(bytes);
  if (!taken.ok() && shared_.phases.Is(phase)) owner_.OnListFailed(taken.error());
}

void ReflectorList::OnPageEnd(Expected<void> result) {
  if (!result.ok()) return FailPage(result.error());
  page_failures_ = 0;
  ++shared_.stats.pages;
  const auto whole = list_reader_->Finish();
  if (!whole.ok()) return owner_.OnListFailed(whole.error());
  if (list_reader_->resource_version().empty()) {
    return owner_.OnListFailed(InvalidError("the answer is no list: it has no metadata.resourceVersion"));
  }
  version_ = list_reader_->resource_version();
  if (!is_checked_) {
    if (const auto checked = shared_.CheckListVersion(version_); !checked.ok())
      return owner_.OnListFailed(checked.error());
  }
  continue_ = list_reader_->continue_token();
  list_reader_.reset();
  NextPage(continue_.empty());
}

void ReflectorList::FailPage(const Error& error) {
  if (shared_.IsTypeRefused()) return ListAsJson("the API server refuses protobuf");
  const bool is_passing = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                          error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kUnauthorized;
  if (!is_passing || continue_.empty() || ++page_failures_ >= kPageTries) return OnPage(error);
  // Only this page is asked for again. The store recognises objects that it has from the first try.
  shared_.phases.After(shared_.Backoff(page_failures_ - 1, error), [this] { RequestPage(); });
}

void ReflectorList::OnPage(Expected<net::Response> page) {
  const std::uint64_t phase = shared_.phases.current();
  if (!page.ok()) {
    if (page.error().code == ErrorCode::kGone && in_pages_ && !continue_.empty()) {
      // The token has outlived the server's history. Pages would meet the same end again, so ask for all at once, as
      // client-go does. What the pages have brought already is in the store, and the new list corrects it.
      log::Info("client", "Listing again in one piece: the list's pages expired", {{"resource", shared_.options.name}});
      ++shared_.stats.failures;
      return StartPages(false);
    }
    return owner_.OnListFailed(page.error());
  }
  ++shared_.stats.pages;
  const Expected<bool> is_last = TakePage(page->body, phase);
  if (!shared_.phases.Is(phase)) return;
  if (!is_last.ok()) return owner_.OnListFailed(is_last.error());
  NextPage(*is_last);
}

void ReflectorList::NextPage(bool is_last) {
  if (!is_last) {
    if (++pages_ >= kPagesMax)
      return owner_.OnListFailed(InvalidError("the list does not end: the server may be broken"));
    return RequestPage();
  }
  shared_.RecordVersion(version_);
  owner_.OnListWhole(version_);
}

// Takes the objects of a page. True: it was the last page.
Expected<bool> ReflectorList::TakePage(const std::string& body, std::uint64_t phase) {
  auto page = shared_.reader.Parse(body);
  if (!page.ok()) return TakePageInSlices(body, phase, page.error());
  const auto metadata = codec::FindMember(*page, "metadata");
  const auto items = codec::FindMember(*page, "items");
  const std::string_view version = metadata ? codec::StringOrEmpty(*metadata, "resourceVersion") : std::string_view();
  if (version.empty() || !items || (!items->is_array() && !items->is_null())) {
    return InvalidError("the answer is no list: it has no metadata.resourceVersion or no items: \"" + Shown(body) +
                        '"');
  }
  BERTH_RETURN_IF_ERROR(shared_.CheckListVersion(version));
  if (items->is_array()) {
    // A variable of its own, since value() of a temporary refers into the temporary.
    const simdjson::dom::array objects = items->get_array().value();
    for (const simdjson::dom::element item : objects) {
      shared_.store.Upsert({ReadJsonMeta(item), &item, {}}, ReflectorStore::Source::kList);
      if (!shared_.phases.Is(phase)) return true;
    }
  }
  version_ = std::string(version);
  continue_ = std::string(codec::StringOrEmpty(*metadata, "continue"));
  return continue_.empty();
}

// Takes a page that cannot be parsed as a whole, object by object: one that is nested too deep or is no JSON is set
// aside. `problem` is the error of the whole page.
Expected<bool> ReflectorList::TakePageInSlices(const std::string& body, std::uint64_t phase, const Error& problem) {
  const auto metadata = codec::FindSlice(body, "metadata");
  const auto list = codec::FindSlice(body, "items");
  const auto items = list ? codec::SliceArray(*list) : std::nullopt;
  auto read = metadata ? shared_.reader.Parse(*metadata) : Expected<simdjson::dom::element>(problem);
  if (!read.ok() || !items) return problem.Wrap("while reading the list \"" + Shown(body) + '"');
  const std::string version(codec::StringOrEmpty(*read, "resourceVersion"));
  const std::string next(codec::StringOrEmpty(*read, "continue"));
  if (version.empty()) return problem.Wrap("while reading the list \"" + Shown(body) + '"');
  BERTH_RETURN_IF_ERROR(shared_.CheckListVersion(version));
  for (const codec::JsonSlice& item : *items) {
    const auto object = shared_.reader.Parse(item.value);
    if (object.ok()) {
      shared_.store.Upsert({ReadJsonMeta(*object), &*object, {}}, ReflectorStore::Source::kList);
    } else {
      const Error& unreadable = object.error();
      shared_.store.Upsert({shared_.ReadUnreadable(item.value), nullptr, {}, &unreadable},
                           ReflectorStore::Source::kList);
    }
    if (!shared_.phases.Is(phase)) return true;
  }
  version_ = version;
  continue_ = next;
  return continue_.empty();
}

}  // namespace berth::client
