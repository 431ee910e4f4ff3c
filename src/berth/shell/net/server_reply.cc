// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/server_reply.h"

#include <algorithm>
#include <cstdio>

#include <boost/asio/post.hpp>

#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/server_connection.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

// Answers up to this size are one piece with their head; larger bodies are not copied.
constexpr std::size_t kJoinedBodyBytesMax = kSmallAnswerBytesMax;
// Pieces of a stream are collected into writes of about this size.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

void AppendConnectionHeader(std::string& out, const ServerReply& reply, bool closes) {
  if (reply.is_upgraded) {
    out.append("Connection: Upgrade\r\n");
  } else if (closes) {
    out.append("Connection: close\r\n");
  } else if (reply.is_http_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// Where so many bytes are to be appended: a piece that waits to be fetched. Small ones are joined, so that each is
// worth a write.
std::string& PieceFor(ServerReply& reply, std::size_t size) {
  if (reply.pieces.empty() || reply.pieces.back().size() + size > kPieceBytes) reply.pieces.emplace_back();
  std::string& piece = reply.pieces.back();
  piece.reserve(piece.size() + size);
  reply.unsent_bytes += size;
  return piece;
}

void AppendPiece(ServerReply& reply, std::string_view bytes) { PieceFor(reply, bytes.size()).append(bytes); }

class Writer final : public ResponseWriter {
 public:
  Writer(std::shared_ptr<ServerShared> shared, std::shared_ptr<ServerReply> reply)
      : shared_(std::move(shared)), reply_(std::move(reply)) {}

  ~Writer() override {
    bool is_unanswered = false;
    {
      const std::lock_guard lock(reply_->mutex);
      is_unanswered = reply_->state == ServerReply::State::kOpen;
      if (reply_->state == ServerReply::State::kStreaming) Break();  // The peer must see that the stream is not whole.
    }
    if (is_unanswered) Send(shared_->Malformed(500, "the request's handler gave no answer"));
  }

  void Send(Response response) override {
    std::unique_lock lock(reply_->mutex);
    if (reply_->state == ServerReply::State::kGone) return;
    BERTH_CHECK(reply_->state == ServerReply::State::kOpen, "a request is answered once");
    if (!HasRoom(response)) {
      SweepSlow(shared_);
      response = shared_->Malformed(429, "peers have not read too many large answers, please try again later");
      if (response.Get("Retry-After").empty()) response.headers.push_back({"Retry-After", "1"});
    }
    const bool has_body = HasBody(response.status);
    const bool sends_body = has_body && !reply_->is_head_request && !response.body.empty();
    if (IsHttp2()) {
      if (has_body) reply_->length = response.body.size();
      if (sends_body) AddPiece(std::move(response.body));
      SetHttp2Head(std::move(response), sends_body);
    } else {
      reply_->closes = !reply_->keeps_alive;
      std::string head;
      const bool is_joined = response.body.size() <= kJoinedBodyBytesMax;
      head.reserve(256 + (is_joined ? response.body.size() : 0));
      AppendHead(head, response);
      if (has_body) head.append("Content-Length: ").append(std::to_string(response.body.size())).append("\r\n");
      AppendConnectionHeader(head, *reply_, reply_->closes);
      head.append("\r\n");
      if (sends_body && is_joined) head.append(response.body);
      AddPiece(std::move(head));
      if (sends_body && !is_joined) AddPiece(std::move(response.body));
    }
    reply_->state = ServerReply::State::kEnded;
    reply_->on_closed = nullptr;
    const auto connection = reply_->connection;
    if (!connection->loop().IsCurrent()) {
      PostFlush(*connection);
      return;
    }
    lock.unlock();
    connection->Flush(reply_);  // the common case: a handler that answers at once needs no post to the loop
  }

  void StartStream(Response response) override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == ServerReply::State::kGone) return;
    BERTH_CHECK(reply_->state == ServerReply::State::kOpen, "a request is answered once");
    const std::string first = std::exchange(response.body, {});
    const bool has_body = HasBody(response.status) && !reply_->is_head_request;
    if (IsHttp2()) {
      SetHttp2Head(std::move(response), has_body);
    } else {
      // In HTTP/1.0 there are no chunks: the body ends with the connection. So does the stream after a 101.
      reply_->is_upgraded = response.status == 101;
      reply_->has_body = has_body || reply_->is_upgraded;
      reply_->is_chunked = !reply_->is_http_1_0 && !reply_->is_upgraded;
      reply_->closes = !reply_->keeps_alive || reply_->is_http_1_0 || reply_->is_upgraded;
      std::string head;
      AppendHead(head, response);
      if (reply_->is_chunked && HasBody(response.status)) head.append("Transfer-Encoding: chunked\r\n");
      AppendConnectionHeader(head, *reply_, reply_->closes);
      head.append("\r\n");
      AppendPiece(*reply_, head);
    }
    reply_->state = ServerReply::State::kStreaming;
    AppendChunk(first);
    PostFlush(*reply_->connection);
  }

  bool Write(std::string_view bytes) override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == ServerReply::State::kGone) return false;
    BERTH_CHECK(reply_->state == ServerReply::State::kStreaming, "Write() comes between StartStream() and End()");
    AppendChunk(bytes);
    if (reply_->unsent_bytes > shared_->options.stream_buffer_bytes_max) {
      Break();
      return false;
    }
    PostFlush(*reply_->connection);
    return true;
  }

  std::size_t BufferedBytes() const override {
    const std::lock_guard lock(reply_->mutex);
    return reply_->state == ServerReply::State::kGone ? 0 : reply_->unsent_bytes;
  }

  void End() override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == ServerReply::State::kGone) return;
    BERTH_CHECK(reply_->state == ServerReply::State::kStreaming, "End() comes once, after StartStream()");
    if (reply_->has_body && reply_->is_chunked) AppendPiece(*reply_, "0\r\n\r\n");
    reply_->state = ServerReply::State::kEnded;
    PostFlush(*reply_->connection);
  }

  void Abort() override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == ServerReply::State::kStreaming) Break();
  }

  void OnClosed(std::function<void()> closed) override {
    {
      const std::lock_guard lock(reply_->mutex);
      if (reply_->state != ServerReply::State::kGone) {
        reply_->on_closed = std::move(closed);
        return;
      }
    }
    closed();  // the connection, and perhaps its loop, do not exist any more, so it is called from here
  }

  std::shared_ptr<const std::vector<std::string>> PeerCertificates() const override {
    return reply_->peer_certificates;  // set before the handler is called, so it needs no lock
  }

 private:
  bool IsHttp2() const { return reply_->http2_stream != 0; }

  // With the reply's lock held. An answer that is larger than the whole budget may be sent when it is the only one.
  bool HasRoom(const Response& response) {
    if (reply_->is_head_request) return true;
    const std::size_t size = response.body.size();
    if (size <= kSmallAnswerBytesMax) {
      if (reply_->small_answers == nullptr) return true;
      if (reply_->held_small.emplace(*reply_->small_answers).Set(size)) return true;
    }
    return reply_->held.emplace(shared_->answers).Set(std::min(size, shared_->answers.bytes_max()));
  }

  // With the reply's lock held. A header "Connection: close" ends the connection.
  void SetHttp2Head(Response head, bool has_body) {
    reply_->closes = EqualsIgnoreCase(head.Get("Connection"), "close");
    reply_->has_body = has_body;
    reply_->head = std::move(head);
  }

  // With the reply's lock held.
  void AddPiece(std::string piece) {
    reply_->unsent_bytes += piece.size();
    reply_->pieces.push_back(std::move(piece));
  }

  // With the reply's lock held.
  void AppendChunk(std::string_view bytes) {
    if (bytes.empty() || !reply_->has_body) return;  // An empty chunk would end the stream.
    if (!reply_->is_chunked) {
      AppendPiece(*reply_, bytes);
      return;
    }
    char text[20];
    const std::string_view size(text, std::snprintf(text, sizeof(text), "%zx\r\n", bytes.size()));
    constexpr std::string_view kEnd = "\r\n";
    PieceFor(*reply_, size.size() + bytes.size() + kEnd.size()).append(size).append(bytes).append(kEnd);
  }

  // With the reply's lock held: the answer cannot be completed. The peer is told from the connection's loop.
  void Break() {
    reply_->state = ServerReply::State::kGone;
    reply_->pieces.clear();
    boost::asio::post(reply_->connection->loop().io,
                      [connection = reply_->connection, reply = reply_] { connection->Break(reply); });
  }

  // With the reply's lock held. The loop exists as long as the reply is not kGone: the server closes its connections,
  // and with them this reply, before it is destroyed.
  void PostFlush(ServerConnection& connection) {
    if (std::exchange(reply_->is_flush_posted, true)) return;
    boost::asio::post(connection.loop().io,
                      [self = connection.shared_from_this(), reply = reply_] { self->Flush(reply); });
  }

  const std::shared_ptr<ServerShared> shared_;
  const std::shared_ptr<ServerReply> reply_;
};

}  // namespace

bool EndReply(const std::shared_ptr<ServerReply>& reply, bool calls_back) {
  bool has_ended = false;
  std::function<void()> on_closed;
  std::shared_ptr<ServerConnection> connection;  // this may be the last reference
  {
    const std::lock_guard lock(reply->mutex);
    has_ended = reply->state == ServerReply::State::kEnded || reply->state == ServerReply::State::kGone;
    reply->state = ServerReply::State::kGone;
    reply->head.reset();
    reply->pieces.clear();
    reply->held.reset();
    reply->held_small.reset();
    on_closed = std::move(reply->on_closed);
    reply->on_closed = nullptr;
    connection = std::move(reply->connection);
  }
  if (calls_back && on_closed) on_closed();
  return has_ended;
}

void AppendHead(std::string& out, const Response& response) {
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ").append(ReasonPhrase(response.status));
  out.append("\r\n");
  for (const Header& header : response.headers) {
    if (!IsToken(header.name) || EqualsIgnoreCase(header.name, "Content-Length") ||
        EqualsIgnoreCase(header.name, "Transfer-Encoding") || EqualsIgnoreCase(header.name, "Connection")) {
      continue;  // this file decides how the answer is framed
    }
    out.append(header.name).append(": ");
    if (IsHeaderValue(header.value)) {
      out.append(header.value);
    } else {  // A line break in a value must not begin another header.
      for (const char c : header.value) out += IsHeaderValue({&c, 1}) ? c : ' ';
    }
    out.append("\r\n");
  }
}

std::shared_ptr<ResponseWriter> MakeResponseWriter(std::shared_ptr<ServerShared> shared,
                                                   std::shared_ptr<ServerReply> reply) {
  return std::make_shared<Writer>(std::move(shared), std::move(reply));
}

}  // namespace berth::net
