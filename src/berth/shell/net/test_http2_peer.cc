// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_http2_peer.h"

#include <algorithm>
#include <map>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace berth::net {
namespace {

int ChooseHttp2(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                unsigned offered_size, void*) {
  static constexpr unsigned char kHttp2[] = "\x02h2";
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(&selected, size, kHttp2, sizeof(kHttp2) - 1, offered, offered_size);
  *chosen = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

std::shared_ptr<SSL_CTX> MakeHttp2Context(const Certificate& certificate) {
  std::shared_ptr<SSL_CTX> context = certificate.MakeServerContext();
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseHttp2, nullptr);
  return context;
}

std::string Text(const std::uint8_t* bytes, std::size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

nghttp2_nv Field(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct Http2Peer::Session {
  struct Stream {
    Request request;
    Answer answer;
    std::size_t sent = 0;
  };

  const Script* script = nullptr;
  int connection = 0;
  int fd = -1;
  SSL* ssl = nullptr;  // null: without TLS
  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Stream> streams;
  std::string raw;  // sent as it is, after what is due
  bool must_close = false;
  bool must_abort = false;
  bool falls_silent = false;  // once what is due has been sent

  static Session& Of(void* user) { return *static_cast<Session*>(user); }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Request& request = Of(user).streams[frame->hd.stream_id].request;
    const std::string key = Text(name, name_size);
    if (key == ":method") request.method = Text(value, value_size);
    if (key == ":path") request.target = Text(value, value_size);
    request.headers.push_back({key, Text(value, value_size)});
    return 0;
  }

  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                    void* user) {
    Of(user).streams[id].request.body += Text(data, size);
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool is_whole = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (is_whole && is_request) Of(user).Do(frame->hd.stream_id);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t taken = stream.answer.body.copy(reinterpret_cast<char*>(buffer), size, stream.sent);
    stream.sent += taken;
    if (stream.sent < stream.answer.body.size()) return static_cast<ssize_t>(taken);
    switch (stream.answer.then) {
      case Answer::Then::kKeepOpen:
      case Answer::Then::kFallSilent:
        if (taken == 0) return NGHTTP2_ERR_DEFERRED;
        break;
      case Answer::Then::kReset:
        if (taken == 0) {
          nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, stream.answer.code);
          return NGHTTP2_ERR_DEFERRED;
        }
        break;
      default: {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (stream.answer.trailers.empty()) break;
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        std::vector<nghttp2_nv> fields;
        for (const Header& trailer : stream.answer.trailers) fields.push_back(Field(trailer.name, trailer.value));
        nghttp2_submit_trailer(session, id, fields.data(), fields.size());
      }
    }
    return static_cast<ssize_t>(taken);
  }

  void Do(std::int32_t id) {
    Stream& stream = streams[id];
    stream.answer = (*script)(stream.request, connection);
    const Answer& answer = stream.answer;
    switch (answer.then) {
      case Answer::Then::kSayNothing: return;
      case Answer::Then::kFallSilent: falls_silent = true; break;
      case Answer::Then::kGoAway:
        nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, std::max(0, id - 2), NGHTTP2_NO_ERROR, nullptr, 0);
        return;
      case Answer::Then::kClose: must_close = true; return;
      case Answer::Then::kAbort: must_close = must_abort = true; return;
      case Answer::Then::kGarbage: raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; return;
      default: break;
    }
    if (answer.status == 0) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, answer.code);
      return;
    }
    const std::string status = std::to_string(answer.status);
    const std::string status_name = ":status";  // fields refer to texts
    std::vector<nghttp2_nv> fields = {Field(status_name, status)};
    for (const Header& header : answer.headers) fields.push_back(Field(header.name, header.value));
    nghttp2_data_provider provider{};
    provider.source.ptr = &stream;
    provider.read_callback = ReadBody;
    nghttp2_submit_response(session, id, fields.data(), fields.size(), &provider);
    if (answer.then == Answer::Then::kFinish) {
      nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, nullptr, 0);
    }
  }

  // All that is due in one piece, so that a head and a short body arrive together.
  bool Write() {
    std::string due;
    for (;;) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session, &data);
      if (size < 0) return false;
      if (size == 0) break;
      due += Text(data, static_cast<std::size_t>(size));
    }
    due += raw;
    if (due.empty()) return true;
    if (ssl == nullptr) return ::send(fd, due.data(), due.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(due.size());
    return SSL_write(ssl, due.data(), static_cast<int>(due.size())) > 0;
  }

  void Run(std::uint32_t streams_max) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_max_send_header_block_length(option, std::size_t{1} << 20);
    nghttp2_session_server_new2(&session, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &setting, 1);
    bool is_silent = false;
    while ((is_silent || Write()) && !must_close) {
      is_silent = falls_silent;
      std::uint8_t buffer[16384];
      const int received = ssl != nullptr ? SSL_read(ssl, buffer, sizeof(buffer))
                                          : static_cast<int>(::recv(fd, buffer, sizeof(buffer), 0));
      if (received <= 0) break;
      if (!is_silent && nghttp2_session_mem_recv(session, buffer, static_cast<std::size_t>(received)) < 0) break;
    }
    nghttp2_session_del(session);
  }
};

Http2Peer::Http2Peer(Script script, std::uint32_t streams_max, bool has_tls)
    : script_(std::move(script)),
      streams_max_(streams_max),
      has_tls_(has_tls),
      context_(MakeHttp2Context(certificate_)),
      server_([this](int fd, int connection) { Serve(fd, connection); }) {}

void Http2Peer::Serve(int fd, int connection) {
  SSL* const ssl = has_tls_ ? SSL_new(context_.get()) : nullptr;
  if (has_tls_) SSL_set_fd(ssl, fd);
  if (!has_tls_ || SSL_accept(ssl) == 1) {
    Session session;
    session.fd = fd;
    session.script = &script_;
    session.connection = connection;
    session.ssl = ssl;
    session.Run(streams_max_);
    if (session.must_abort) {
      const linger now{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    } else {
      // To close while bytes of the client are unread would be a reset.
      ::shutdown(fd, SHUT_WR);
      char unread[4096];
      while (::recv(fd, unread, sizeof(unread), 0) > 0) continue;
    }
  }
  SSL_free(ssl);
}

}  // namespace berth::net
