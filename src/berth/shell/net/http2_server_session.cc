// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http2_server_session.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "berth/base/check.h"
#include "berth/base/text.h"
#include "berth/shell/net/http2_text.h"
#include "berth/shell/net/http_parser.h"

namespace berth::net {
namespace {

// The flow-control window of a stream, as in kube-apiserver: most bodies are shorter. Bytes are taken as soon as they
// are read, so this needs no memory. The connection's window is the sum of those of its streams.
constexpr std::uint32_t kStreamWindowBytes = std::uint32_t{256} << 10;
// HTTP/2 counts these bytes for a header besides its texts.
constexpr std::size_t kHeaderExtraBytes = 32;
// A head that is longer than the limit by this factor ends the connection instead of being answered.
constexpr std::size_t kHeadExcess = 2;
// The most frames that wait to be sent, as maxQueuedControlFrames of golang.org/x/net/http2. A peer that sends and does
// not read causes more.
constexpr std::size_t kQueuedFramesMax = 10'000;
// The most bytes of an answer's head. The default of nghttp2 is half of it.
constexpr std::size_t kAnswerHeadBytesMax = std::size_t{1} << 17;

// An answer's headers as HTTP/2 allows them: with a line break in one the peer would refuse the whole answer.
std::vector<Header> CleanHeaders(const std::vector<Header>& headers) {
  std::vector<Header> clean;
  clean.reserve(headers.size());
  for (const Header& header : headers) {
    if (!IsToken(header.name) || FramesMessage(header.name)) continue;
    Header& added = clean.emplace_back();
    AppendLowerCase(added.name, header.name);
    added.value = Trim(header.value);
    if (IsHeaderValue(added.value)) continue;
    for (char& c : added.value) {
      if (!IsHeaderValue({&c, 1})) c = ' ';
    }
    added.value = std::string(Trim(added.value));
  }
  return clean;
}

}  // namespace

struct Http2ServerSession::Impl {
  struct Stream {
    Request request;
    Time begun;
    std::uint64_t last_fed = 0;
    std::size_t head_bytes = 0;
    bool is_head_request = false;
    bool is_head_done = false;
    bool is_whole = false;    // the peer has ended its side
    bool is_refused = false;  // what comes of the request is thrown away
    bool is_answered = false;
  };

  Limits limits;
  ReadBody read_body;
  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Stream> streams;
  std::vector<Event> events;
  Time now;                  // when the present bytes were fed
  std::uint64_t feeds = 0;   // the number of feeds of requests
  std::optional<Code> doom;  // the error to end the session with, once nghttp2 may be called again
  std::string problem;
  bool has_begun = false;
  bool is_going_away = false;
  bool has_failed = false;

  static Impl& Of(void* user) { return *static_cast<Impl*>(user); }

  Stream* Find(std::int32_t id) {
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : &found->second;
  }

  static int OnBeginHeaders(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Impl& self = Of(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (self.is_going_away) {
      // The peer may have sent this before our GOAWAY, which excludes the stream.
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    } else {
      self.streams[frame->hd.stream_id].begun = self.now;
    }
    return 0;
  }

  // Takes a header of a request's head, or of its trailers, of which only the size counts.
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Impl& self = Of(user);
    Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->last_fed = ++self.feeds;
    stream->head_bytes += name_size + value_size + kHeaderExtraBytes;
    if (stream->head_bytes > self.limits.header_bytes_max) {
      // The head is only decoded from here on: a repeated header costs the peer just one byte.
      if (stream->head_bytes / kHeadExcess > self.limits.header_bytes_max) self.doom = Code::kEnhanceYourCalm;
      return 0;
    }
    if (!stream->is_head_done) AddHeader(*stream, Http2View(name, name_size), Http2View(value, value_size));
    return 0;
  }

  static void AddHeader(Stream& stream, std::string_view name, std::string_view value) {
    Request& request = stream.request;
    if (name == ":method") {
      request.method = value;
      stream.is_head_request = value == "HEAD";
    } else if (name == ":path") {
      request.target = value;
    } else if (name == ":authority") {
      request.headers.push_back({"Host", std::string(value)});
    } else if (name == "host") {
      // :authority takes precedence over a Host header, which may differ.
      if (request.Get("Host").empty()) request.headers.push_back({"Host", std::string(value)});
    } else if (!name.starts_with(':')) {
      request.headers.push_back({std::string(name), std::string(value)});
    }
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Impl& self = Of(user);
    if (frame->hd.type == NGHTTP2_SETTINGS) self.has_begun = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const std::int32_t id = frame->hd.stream_id;
    Stream* const stream = self.Find(id);
    if (stream == nullptr) return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->is_whole = true;
    if (stream->head_bytes > self.limits.header_bytes_max) {
      self.Refuse(id, *stream, 431);
    } else if (!std::exchange(stream->is_head_done, true)) {
      self.JudgeHead(id, *stream);
    }
    stream->is_head_done = true;
    if (stream->is_whole && !stream->is_refused) {
      self.events.push_back({Event::Kind::kRequest, id, std::move(stream->request)});
      stream->request = {};
    }
    return 0;
  }

  void JudgeHead(std::int32_t id, Stream& stream) {
    const std::string_view expectation = stream.request.Get("Expect");
    if (!IsTargetText(stream.request.target)) {
      Refuse(id, stream, 400, "not an HTTP/2 request: bad or missing :path");
    } else if (!expectation.empty() && !EqualsIgnoreCase(expectation, "100-continue")) {
      Refuse(id, stream, 417, "Expect: only 100-continue is understood");
    } else if (!expectation.empty() && !stream.is_whole) {
      const nghttp2_nv go_on = Http2Field(":status", "100");
      nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, id, nullptr, &go_on, 1, nullptr);
    }
  }

  void Refuse(std::int32_t id, Stream& stream, int status, std::string problem_text = {}) {
    if (std::exchange(stream.is_refused, true)) return;
    stream.request = {};
    events.push_back({Event::Kind::kRefused, id, {}, status, std::move(problem_text)});
  }

  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                    void* user) {
    Impl& self = Of(user);
    Stream* const stream = self.Find(id);
    if (stream == nullptr || stream->is_refused) return 0;
    stream->last_fed = ++self.feeds;
    std::string& body = stream->request.body;
    if (body.size() + size > self.limits.body_bytes_max) {
      self.Refuse(id, *stream, 413);
    } else {
      body.append(Http2View(data, size));
    }
    return 0;
  }

  // If an answer ends before its request, the rest of the request is not wanted.
  static int OnSent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    const bool is_end = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const Stream* const stream = is_end ? Of(user).Find(frame->hd.stream_id) : nullptr;
    if (stream != nullptr && !stream->is_whole) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  // nghttp2 could not send a head.
  static int OnNotSent(nghttp2_session* session, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && Of(user).Find(frame->hd.stream_id) != nullptr) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    }
    return 0;
  }

  static int OnClose(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    Impl& self = Of(user);
    if (self.streams.erase(id) == 0) return 0;
    // Drops events of the stream that nobody has taken yet.
    std::erase_if(self.events, [id](const Event& event) { return event.stream == id; });
    self.events.push_back({Event::Kind::kClosed, id, {}});
    return 0;
  }

  static ssize_t OnReadBody(nghttp2_session*, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) {
    const Part part = static_cast<Impl*>(source->ptr)->read_body(id, reinterpret_cast<char*>(buffer), size);
    if (part.is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (part.bytes == 0 && !part.is_last) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(part.bytes);
  }

  void Start() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* option = nullptr;
    BERTH_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, OnSent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, OnNotSent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, kAnswerHeadBytesMax);
    BERTH_CHECK(nghttp2_session_server_new2(&session, callbacks, this, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const std::array<nghttp2_settings_entry, 3> settings = {{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.header_bytes_max)},
    }};
    BERTH_CHECK(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
    const std::uint64_t window = std::min<std::uint64_t>(std::uint64_t{kStreamWindowBytes} * limits.streams_max,
                                                         std::numeric_limits<std::int32_t>::max());
    BERTH_CHECK(
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(window)) == 0);
  }
};

Http2ServerSession::Http2ServerSession(const Limits& limits, ReadBody read_body) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  impl_->read_body = std::move(read_body);
  impl_->Start();
}

Http2ServerSession::~Http2ServerSession() { nghttp2_session_del(impl_->session); }

bool Http2ServerSession::Feed(std::string_view bytes, Time now) {
  if (impl_->has_failed) return false;
  impl_->now = now;
  const auto taken =
      nghttp2_session_mem_recv(impl_->session, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) {
    impl_->problem = nghttp2_strerror(static_cast<int>(taken));
  } else if (nghttp2_session_get_outbound_queue_size(impl_->session) > kQueuedFramesMax) {
    impl_->problem = "more than " + std::to_string(kQueuedFramesMax) + " frames wait to be sent";
  }
  impl_->has_failed = !impl_->problem.empty();
  if (!impl_->has_failed && impl_->doom) Terminate(*std::exchange(impl_->doom, std::nullopt));
  return !impl_->has_failed;
}

std::vector<Http2ServerSession::Event> Http2ServerSession::TakeEvents() { return std::exchange(impl_->events, {}); }

std::vector<Http2ServerSession::Receiving> Http2ServerSession::receiving() const {
  std::vector<Receiving> all;
  for (const auto& [id, stream] : impl_->streams) {
    if (stream.is_whole || stream.is_refused) continue;
    const std::size_t head_bytes = std::min(stream.head_bytes, impl_->limits.header_bytes_max);
    all.push_back(
        {id, head_bytes + stream.request.body.capacity(), stream.begun, stream.last_fed, stream.is_head_done});
  }
  return all;
}

void Http2ServerSession::Refuse(std::int32_t stream) {
  Impl::Stream* const found = impl_->Find(stream);
  if (found == nullptr) return;
  found->is_refused = true;
  found->request = {};
}

void Http2ServerSession::Answer(std::int32_t stream, const Response& head, std::optional<std::size_t> length,
                                bool has_body) {
  Impl::Stream* const found = impl_->Find(stream);
  if (found == nullptr || impl_->has_failed) return;
  BERTH_CHECK(!std::exchange(found->is_answered, true), "a stream is answered once");
  const std::string status = std::to_string(head.status);
  const std::string length_text = length ? std::to_string(*length) : std::string();
  const std::vector<Header> headers = CleanHeaders(head.headers);
  std::vector<nghttp2_nv> fields = {Http2Field(":status", status)};
  for (const Header& header : headers) fields.push_back(Http2Field(header.name, header.value));
  if (length) fields.push_back(Http2Field("content-length", length_text));
  nghttp2_data_provider provider{};
  provider.source.ptr = impl_.get();
  provider.read_callback = Impl::OnReadBody;
  const bool sends_body = has_body && !found->is_head_request;
  nghttp2_submit_response(impl_->session, stream, fields.data(), fields.size(), sends_body ? &provider : nullptr);
}

void Http2ServerSession::Resume(std::int32_t stream) {
  if (!impl_->has_failed && impl_->Find(stream) != nullptr) nghttp2_session_resume_data(impl_->session, stream);
}

void Http2ServerSession::Reset(std::int32_t stream, Code code) {
  Refuse(stream);
  if (impl_->has_failed || impl_->Find(stream) == nullptr) return;
  nghttp2_submit_rst_stream(impl_->session, NGHTTP2_FLAG_NONE, stream, static_cast<std::uint32_t>(code));
}

void Http2ServerSession::GoAway() {
  if (impl_->has_failed || std::exchange(impl_->is_going_away, true)) return;
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(impl_->session);
  nghttp2_submit_goaway(impl_->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2ServerSession::Terminate(Code code) {
  if (!impl_->has_failed) nghttp2_session_terminate_session(impl_->session, static_cast<std::uint32_t>(code));
}

void Http2ServerSession::Take(std::string& out, std::size_t bytes_max) {
  while (!impl_->has_failed && out.size() < bytes_max) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(impl_->session, &data);
    if (size == 0) return;
    if (size < 0) {
      impl_->has_failed = true;
      impl_->problem = nghttp2_strerror(static_cast<int>(size));
      return;
    }
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

bool Http2ServerSession::is_dead() const {
  return impl_->has_failed ||
         (nghttp2_session_want_read(impl_->session) == 0 && nghttp2_session_want_write(impl_->session) == 0);
}

bool Http2ServerSession::has_begun() const { return impl_->has_begun; }
std::size_t Http2ServerSession::open() const { return impl_->streams.size(); }
const std::string& Http2ServerSession::problem() const { return impl_->problem; }

}  // namespace berth::net
