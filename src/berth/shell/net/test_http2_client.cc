// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_http2_client.h"

#include <algorithm>
#include <csignal>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "berth/base/check.h"
#include "berth/shell/net/http2_text.h"

namespace berth::net {

std::string RawFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string frame;
  const auto add = [&frame](std::size_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) frame += static_cast<char>((value >> (8 * i)) & 0xff);
  };
  add(payload.size(), 3);
  add(type, 1);
  add(flags, 1);
  add(stream, 4);
  return frame.append(payload);
}

struct Http2TestClient::Callbacks {
  static Http2TestClient& Of(void* user) { return *static_cast<Http2TestClient*>(user); }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Answer& answer = Of(user).answers_[frame->hd.stream_id];
    const std::string key(Http2View(name, name_size));
    const std::string text(Http2View(value, value_size));
    if (key == ":status") {
      answer.response.status = std::stoi(text);
    } else {
      answer.response.headers.push_back({key, text});
    }
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2TestClient& self = Of(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.has_goaway_ = true;
      self.goaway_code_ = frame->goaway.error_code;
      self.goaway_last_ = frame->goaway.last_stream_id;
    } else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      ++self.pongs_;
    } else if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) {
      Answer& answer = self.answers_[frame->hd.stream_id];
      if (frame->hd.type == NGHTTP2_HEADERS && answer.response.status < 200) ++answer.interim_heads;
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) answer.has_ended = true;
    }
    return 0;
  }

  static int OnData(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                    void* user) {
    Http2TestClient& self = Of(user);
    self.answers_[id].response.body += Http2View(data, size);
    nghttp2_session_consume_connection(session, size);
    if (const auto unread = self.unread_.find(id); unread != self.unread_.end()) {
      unread->second += size;
    } else {
      nghttp2_session_consume_stream(session, id, size);
    }
    return 0;
  }

  static int OnClose(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    Answer& answer = Of(user).answers_[id];
    answer.is_closed = true;
    answer.code = code;
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    auto& [body, ends] = *static_cast<std::pair<std::string, bool>*>(source->ptr);
    const std::size_t taken = body.copy(reinterpret_cast<char*>(buffer), size);
    body.erase(0, taken);
    if (body.empty() && ends) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (taken == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(taken);
  }
};

Http2TestClient::Http2TestClient() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  BERTH_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_max_send_header_block_length(option, std::size_t{1} << 20);
  BERTH_CHECK(nghttp2_session_client_new2(&session_, callbacks, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  BERTH_CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0) == 0);
}

Http2TestClient::~Http2TestClient() { nghttp2_session_del(session_); }

std::int32_t Http2TestClient::Submit(const Request& request, bool is_whole) {
  const std::string authority(request.Get("Host").empty() ? "a" : request.Get("Host"));
  std::vector<nghttp2_nv> fields = {Http2Field(":method", request.method), Http2Field(":scheme", "https"),
                                    Http2Field(":authority", authority), Http2Field(":path", request.target)};
  std::vector<std::string> names(request.headers.size());
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const Header& header = request.headers[i];
    if (header.name == "Host") continue;
    AppendLowerCase(names[i], header.name);
    fields.push_back(Http2Field(names[i], header.value));
  }
  const std::int32_t id = nghttp2_session_get_next_stream_id(session_) > 0
                              ? static_cast<std::int32_t>(nghttp2_session_get_next_stream_id(session_))
                              : 0;
  auto& body = bodies_[id];
  body = {request.body, is_whole};
  nghttp2_data_provider provider{};
  provider.source.ptr = &body;
  provider.read_callback = Callbacks::ReadBody;
  const bool has_body = !request.body.empty() || !is_whole;
  const std::int32_t submitted =
      nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), has_body ? &provider : nullptr, nullptr);
  BERTH_CHECK(submitted == id, submitted, id);
  return id;
}

void Http2TestClient::Reset(std::int32_t stream) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void Http2TestClient::Ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

void Http2TestClient::ReadOn(std::int32_t stream) {
  const auto node = unread_.extract(stream);
  if (!node.empty()) nghttp2_session_consume_stream(session_, stream, node.mapped());
}

void Http2TestClient::Feed(std::string_view bytes) {
  const auto taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  BERTH_CHECK(taken == static_cast<ssize_t>(bytes.size()), nghttp2_strerror(static_cast<int>(taken)));
}

std::string Http2TestClient::TakeOutput() {
  std::string out;
  for (;;) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) return out;
    out += Http2View(data, static_cast<std::size_t>(size));
  }
}

Http2TestConnection::Http2TestConnection(std::uint16_t port, const Options& options)
    : socket_(RawSocket::Connect(port)), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
  std::signal(SIGPIPE, SIG_IGN);
  if (options.is_tls_1_2) SSL_CTX_set_max_proto_version(context_.get(), TLS1_2_VERSION);
  if (!options.suites.empty()) BERTH_CHECK(SSL_CTX_set_cipher_list(context_.get(), options.suites.c_str()) == 1);
  BERTH_CHECK(SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(options.protocols.data()),
                                      static_cast<unsigned>(options.protocols.size())) == 0);
  ssl_.reset(SSL_new(context_.get()), SSL_free);
  SSL_set_fd(ssl_.get(), socket_.fd());
  BERTH_CHECK(SSL_connect(ssl_.get()) == 1);
}

std::string Http2TestConnection::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

bool Http2TestConnection::RunUntil(const std::function<bool()>& is_so) {
  for (;;) {
    Flush();
    if (is_so()) return true;
    if (has_ended_) return false;
    char buffer[16384];
    const int received = SSL_read(ssl_.get(), buffer, sizeof(buffer));
    if (received > 0) {
      client_.Feed({buffer, static_cast<std::size_t>(received)});
    } else {
      has_ended_ = true;
    }
  }
}

const Http2TestClient::Answer& Http2TestConnection::RunUntilClosed(std::int32_t stream) {
  BERTH_CHECK(RunUntil([this, stream] { return client_.answer(stream).is_closed; }), stream);
  return client_.answer(stream);
}

bool Http2TestConnection::RunUntilEnd() {
  return RunUntil([this] { return has_ended_; });
}

void Http2TestConnection::Flush() { Write(client_.TakeOutput()); }

void Http2TestConnection::Write(std::string_view bytes) {
  // That the server has closed is seen by the reader.
  if (!bytes.empty()) (void)SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace berth::net
