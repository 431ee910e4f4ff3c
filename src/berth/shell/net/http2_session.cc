// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http2_session.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "berth/base/check.h"
#include "berth/shell/net/http2_text.h"
#include "berth/shell/net/url.h"
#include "berth/shell/net/write_fence.h"

namespace berth::net {
namespace {

// The flow-control windows of a stream and of the connection. Bytes are taken as soon as they are read, so these need
// no memory; back-pressure comes from not reading.
constexpr std::uint32_t kStreamWindowBytes = std::uint32_t{4} << 20;
constexpr std::int32_t kConnectionWindowBytes = std::int32_t{64} << 20;
constexpr int kInterimHeadsMax = 8;
constexpr std::size_t kHeadersUsual = 8;  // the usual number in an answer of kube-apiserver

}  // namespace

struct Http2Session::Impl {
  struct Stream {
    Http2Reader* reader = nullptr;  // null: nobody wants the answer any more
    std::string body;               // the request's
    std::size_t body_taken = 0;
    Response head;
    std::size_t header_bytes = 0;
    int interim_heads = 0;
    bool has_head = false;
    bool has_ended = false;
    bool was_sent = false;
    bool is_too_large = false;
    std::shared_ptr<const WriteFence> fence;  // null: none
    std::string failure;
    std::vector<Header> trailers;
  };

  nghttp2_session* session = nullptr;
  std::size_t header_bytes_max = 0;
  std::string_view scheme;
  std::map<std::int32_t, std::unique_ptr<Stream>> streams;
  std::vector<std::int32_t> unsent_fenced;  // streams with a fence whose head has not been handed out, perhaps
  std::vector<std::shared_ptr<const WriteFence>> taken_fences;  // the fences of bytes from the latest Take(), each once
  std::string problem;
  bool is_closing = false;
  bool is_over = false;
  // Buffers of Submit(), kept for their memory.
  std::vector<nghttp2_nv> fields;
  std::string names;

  static Impl& Of(void* user) { return *static_cast<Impl*>(user); }

  Stream* Find(std::int32_t id) {
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : found->second.get();
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Stream* const stream = Of(user).Find(frame->hd.stream_id);
    if (stream == nullptr || stream->has_head) return 0;
    stream->head = {};
    stream->head.headers.reserve(kHeadersUsual);
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Impl& self = Of(user);
    Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr || stream->reader == nullptr) return 0;
    stream->header_bytes += name_size + value_size + 4;
    if (stream->header_bytes > self.header_bytes_max) {
      stream->is_too_large = true;
      stream->failure = "the answer's head is longer than " + std::to_string(self.header_bytes_max) + " bytes";
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    const std::string_view key = Http2View(name, name_size);
    if (stream->has_head) {
      stream->trailers.push_back({std::string(key), std::string(Http2View(value, value_size))});
    } else if (key == ":status") {
      // nghttp2 has seen to it that these are three digits.
      for (std::size_t i = 0; i < value_size; ++i) stream->head.status = stream->head.status * 10 + (value[i] - '0');
    } else {
      stream->head.headers.push_back({std::string(key), std::string(Http2View(value, value_size))});
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Impl& self = Of(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.is_closing = true;
      return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->has_ended = true;
    if (frame->hd.type != NGHTTP2_HEADERS || stream->has_head) return 0;
    if (stream->head.status < 200) {
      const bool is_interim = stream->head.status >= 100;
      if (is_interim && ++stream->interim_heads <= kInterimHeadsMax) return 0;
      stream->failure = is_interim ? "too many 1xx answers before the real one"
                                   : "the answer's status is " + std::to_string(stream->head.status);
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_CANCEL);
      return 0;
    }
    stream->has_head = true;
    if (stream->reader != nullptr) stream->reader->OnHttp2Head(std::move(stream->head));
    return 0;
  }

  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                    void* user) {
    Stream* const stream = Of(user).Find(id);
    // A stream without a head is about to be reset: nghttp2 accepts a status below 100.
    if (stream != nullptr && stream->has_head && stream->reader != nullptr)
      stream->reader->OnHttp2Body(Http2View(data, size));
    return 0;
  }

  static int OnSent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* const stream = Of(user).Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->was_sent = true;
    if (stream->fence != nullptr) Of(user).RecordTaken(stream->fence);
    return 0;
  }

  // The list is short: a process has at most one fence.
  void RecordTaken(const std::shared_ptr<const WriteFence>& fence) {
    if (std::find(taken_fences.begin(), taken_fences.end(), fence) == taken_fences.end()) taken_fences.push_back(fence);
  }

  // Ends requests whose head has not been sent and whose fence has closed.
  void RefuseFenced() {
    std::vector<Http2Reader*> refused;
    std::erase_if(unsent_fenced, [&](std::int32_t id) {
      Stream* const stream = Find(id);
      if (stream == nullptr || stream->was_sent) return true;
      if (stream->fence->IsOpen()) return false;
      if (stream->reader != nullptr) refused.push_back(std::exchange(stream->reader, nullptr));
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);  // takes the head out of the queue
      return true;
    });
    for (Http2Reader* const reader : refused) reader->OnHttp2End({Http2End::How::kFenced, "", false});
  }

  static int OnClose(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    Impl& self = Of(user);
    auto node = self.streams.extract(id);
    if (node.empty()) return 0;
    Stream& stream = *node.mapped();
    if (stream.reader == nullptr) return 0;
    Http2End end = EndOf(stream, code);
    if (end.how == Http2End::How::kComplete) end.trailers = std::move(stream.trailers);
    stream.reader->OnHttp2End(end);
    return 0;
  }

  static Http2End EndOf(const Stream& stream, std::uint32_t code) {
    using How = Http2End::How;
    if (stream.is_too_large) return {How::kTooLarge, stream.failure, true};
    if (!stream.failure.empty()) return {How::kBroken, stream.failure, true};
    if (!stream.has_head && stream.fence != nullptr && !stream.fence->IsOpen() &&
        stream.body_taken < stream.body.size()) {
      return {How::kFenced, "", stream.was_sent};
    }
    if (stream.has_head && stream.has_ended) return {How::kComplete, "", true};
    const std::string reason = std::string("the answer was reset: ") + nghttp2_http2_strerror(code);
    if (!stream.has_head && (!stream.was_sent || code == NGHTTP2_REFUSED_STREAM)) {
      return {How::kRefused, reason, stream.was_sent};
    }
    return {How::kBroken, reason, stream.was_sent};
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    // The peer discards a request without its end.
    if (stream.fence != nullptr && !stream.fence->IsOpen()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t taken = stream.body.copy(reinterpret_cast<char*>(buffer), size, stream.body_taken);
    stream.body_taken += taken;
    if (stream.body_taken == stream.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(taken);
  }

  void FillFields(const Target& target, const Request& request, const std::string& length) {
    fields.clear();
    names.clear();
    std::size_t names_bytes = 0;
    for (const Header& header : request.headers) names_bytes += header.name.size();
    names.reserve(names_bytes);  // so that the views below stay valid
    fields.push_back(Http2Field(":method", request.method));
    fields.push_back(Http2Field(":scheme", scheme));
    fields.push_back(Http2Field(":authority", target.authority));
    fields.push_back(Http2Field(":path", target.path));
    for (const Header& header : request.headers) {
      if (FramesMessage(header.name) || EqualsIgnoreCase(header.name, "Host")) continue;
      const std::size_t begin = names.size();
      AppendLowerCase(names, header.name);
      fields.push_back(Http2Field(std::string_view(names).substr(begin), header.value));
    }
    if (!length.empty()) fields.push_back(Http2Field("content-length", length));
  }
};

Http2Session::Http2Session(std::size_t header_bytes_max, std::string_view scheme) : impl_(std::make_unique<Impl>()) {
  impl_->header_bytes_max = header_bytes_max;
  impl_->scheme = scheme;
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  BERTH_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Impl::OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Impl::OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Impl::OnFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Impl::OnData);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Impl::OnSent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Impl::OnClose);
  nghttp2_option_set_no_closed_streams(option, 1);
  BERTH_CHECK(nghttp2_session_client_new2(&impl_->session, callbacks, impl_.get(), option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(header_bytes_max)},
  }};
  BERTH_CHECK(nghttp2_submit_settings(impl_->session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  BERTH_CHECK(nghttp2_session_set_local_window_size(impl_->session, NGHTTP2_FLAG_NONE, 0, kConnectionWindowBytes) == 0);
}

Http2Session::~Http2Session() { nghttp2_session_del(impl_->session); }

std::int32_t Http2Session::Submit(const Target& target, const Request& request, std::string body, Http2Reader& reader) {
  if (impl_->is_over) return 0;
  auto stream = std::make_unique<Impl::Stream>();
  stream->reader = &reader;
  stream->body = std::move(body);
  stream->fence = request.fence;
  const bool has_body = !stream->body.empty();
  const bool says_length =
      has_body || (request.method != "GET" && request.method != "HEAD" && request.method != "DELETE");
  const std::string length = says_length ? std::to_string(stream->body.size()) : std::string();
  impl_->FillFields(target, request, length);
  nghttp2_data_provider provider{};
  provider.source.ptr = stream.get();
  provider.read_callback = Impl::ReadBody;
  const std::int32_t id = nghttp2_submit_request(impl_->session, nullptr, impl_->fields.data(), impl_->fields.size(),
                                                 has_body ? &provider : nullptr, nullptr);
  if (id <= 0) {
    impl_->is_closing = true;  // The stream numbers are used up.
    return 0;
  }
  if (stream->fence != nullptr) impl_->unsent_fenced.push_back(id);
  impl_->streams.emplace(id, std::move(stream));
  return id;
}

void Http2Session::Reset(std::int32_t id) {
  auto* const stream = impl_->Find(id);
  if (stream == nullptr) return;
  stream->reader = nullptr;
  if (!impl_->is_over) nghttp2_submit_rst_stream(impl_->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void Http2Session::Ping() {
  if (!impl_->is_over) nghttp2_submit_ping(impl_->session, NGHTTP2_FLAG_NONE, nullptr);
}

bool Http2Session::Feed(std::string_view bytes) {
  if (impl_->is_over) return true;
  const auto taken =
      nghttp2_session_mem_recv(impl_->session, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) {
    impl_->problem = nghttp2_strerror(static_cast<int>(taken));
    return false;
  }
  return true;
}

bool Http2Session::is_dead() const {
  return !impl_->is_over && nghttp2_session_want_read(impl_->session) == 0 &&
         nghttp2_session_want_write(impl_->session) == 0;
}

void Http2Session::Take(std::string& out, std::size_t bytes_max) {
  impl_->taken_fences.clear();
  if (!impl_->unsent_fenced.empty() && !impl_->is_over) impl_->RefuseFenced();
  while (!impl_->is_over && out.size() < bytes_max) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(impl_->session, &data);
    if (size <= 0) return;  // it fails only if memory runs out
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

bool Http2Session::MaySend() const {
  return std::all_of(impl_->taken_fences.begin(), impl_->taken_fences.end(),
                     [](const auto& fence) { return fence->IsOpen(); });
}

bool Http2Session::has_output() const { return !impl_->is_over && nghttp2_session_want_write(impl_->session) != 0; }

bool Http2Session::HasRoom() const {
  if (impl_->is_over || impl_->is_closing || nghttp2_session_check_request_allowed(impl_->session) == 0) return false;
  return impl_->streams.size() <
         nghttp2_session_get_remote_settings(impl_->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool Http2Session::is_closing() const {
  return impl_->is_over || impl_->is_closing || nghttp2_session_check_request_allowed(impl_->session) == 0;
}

std::size_t Http2Session::open() const { return impl_->streams.size(); }
const std::string& Http2Session::problem() const { return impl_->problem; }

void Http2Session::FailAll(const std::string& reason) {
  if (std::exchange(impl_->is_over, true)) return;
  // Streams are taken out one by one, since a reader may reset others.
  while (!impl_->streams.empty()) {
    const auto stream = std::move(impl_->streams.extract(impl_->streams.begin()).mapped());
    if (stream->reader == nullptr) continue;
    using How = Http2End::How;
    stream->reader->OnHttp2End({stream->was_sent ? How::kBroken : How::kRefused, reason, stream->was_sent});
  }
}

void Http2Session::DropAll() {
  impl_->is_over = true;
  for (const auto& [id, stream] : impl_->streams) stream->reader = nullptr;
}

}  // namespace berth::net
