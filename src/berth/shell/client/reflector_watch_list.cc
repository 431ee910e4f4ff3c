// Streaming lists (WatchList) of a Reflector: a watch that begins with all objects there are, and the way back to pages
// where the server does not have them.
#include "berth/base/log.h"
#include "berth/shell/client/reflector_impl.h"

namespace berth::client {

// A watch that begins with all objects there are, as events.
void Reflector::Impl::StreamList() {
  OpenWatch(true);
  if (is_initial_) WaitForSilence();
}

// A server that does not know what initial events are might never say that they are over.
void Reflector::Impl::WaitForSilence() {
  const auto seen = initial_events_;
  cancel_timer_ = loop_.PostAfter(
      options_.streamed_list_silence, InPhase([seen](Impl& self) {
        if (!self.is_initial_) return;
        // Without an answer the stream's own time-out ends it.
        if (!self.is_watch_open_ || self.initial_events_ != seen) return self.WaitForSilence();
        self.ListInstead("it brought nothing for " + FormatGoDuration(self.options_.streamed_list_silence), true);
      }));
}

// Their versions are in no order, so that none is a place to go on from; what was not told when they are over is
// gone.
void Reflector::Impl::TakeInitialEvent(std::string_view type, const Arrival& object) {
  ++initial_events_;
  if (type == "BOOKMARK") {
    ++stats_.bookmarks;
    if (!object.meta.has_initial_events_end) return;
    is_initial_ = false;
    watch_failures_ = 0;
    garbled_watches_ = 0;
    ++stats_.streamed_lists;
    FinishList(std::string(object.meta.resource_version), phase_);
  } else if (type == "DELETED") {
    store_.Remove(object);
  } else {
    store_.Upsert(object, Source::kList);
  }
}

// The streamed list has ended before it was whole.
void Reflector::Impl::OnInitialEnd(const Expected<void>& result) {
  if (result.ok()) return ListInstead("it ended before it was whole", true);
  const Error& error = result.error();
  switch (error.code) {
    case ErrorCode::kInvalid: return ListInstead(error.message, true);
    // Whoever may not watch may still list; rules that the server has not read yet pass.
    case ErrorCode::kForbidden: return ListInstead(error.message, false);
    default: return FailList(error);
  }
}

// `for_good`: also from now on.
void Reflector::Impl::ListInstead(const std::string& why, bool for_good) {
  if (for_good) streams_list_ = false;
  log::Info("client", "Listing in pages: the API server did not stream the list",
            {{"resource", options_.name}, {"reason", why}});
  StartPages(true);
}

}  // namespace berth::client
