// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/websocket.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Socket = beast::websocket::stream<asio::ip::tcp::socket>;

Request Handshake() {
  Request request;
  request.headers = {
      {"Upgrade", "WebSocket"}, {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, {"Sec-WebSocket-Version", "13"}};
  return request;
}

std::string Masked(std::uint8_t first, std::string payload) {
  const std::string mask = "\x11\x22\x33\x44";
  std::string frame(1, static_cast<char>(first));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xff);
  }
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] ^= mask[i % 4];
  return frame + mask + payload;
}

// The example of RFC 6455, section 1.3.
TEST(WebSocket, AcceptsAHandshake) {
  Request request = Handshake();
  ASSERT_TRUE(AsksForWebSocket(request));
  const auto accepted = AcceptWebSocket(request);
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->status, 101);
  EXPECT_EQ(accepted->Get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(accepted->Get("Sec-WebSocket-Protocol"), "");
  request.headers.push_back({"Sec-WebSocket-Protocol", "one, two"});
  EXPECT_EQ(AcceptWebSocket(request)->Get("Sec-WebSocket-Protocol"), "") << "which of them is not ours to say";
  request.headers.back().value = "one";
  EXPECT_EQ(AcceptWebSocket(request)->Get("Sec-WebSocket-Protocol"), "one");
}

TEST(WebSocket, RefusesWhatIsNoHandshake) {
  EXPECT_FALSE(AsksForWebSocket(Request{}));
  Request request = Handshake();
  request.headers[1].value = "c2hvcnQ=";
  EXPECT_FALSE(AcceptWebSocket(request).ok());
  request = Handshake();
  request.headers[2].value = "8";
  EXPECT_FALSE(AcceptWebSocket(request).ok());
  request = Handshake();
  request.method = "POST";
  EXPECT_FALSE(AcceptWebSocket(request).ok());
}

TEST(WebSocket, WritesFramesOfEachLength) {
  for (const std::size_t size : {0U, 125U, 126U, 65535U, 65536U}) {
    std::string frame;
    AppendFrame(frame, WebSocketOpcode::kText, std::string(size, 'x'));
    const std::size_t head = size <= 125 ? 2 : size <= 65535 ? 4 : 10;
    EXPECT_EQ(frame.size(), head + size);
    EXPECT_EQ(static_cast<unsigned char>(frame[0]), 0x81);
  }
}

TEST(WebSocket, ReadsControlFramesBetweenMessages) {
  const std::string bytes = Masked(0x81, std::string(300, 'x')) + Masked(0x89, "ping") + Masked(0x8a, "pong") +
                            Masked(0x01, "a") + Masked(0x80, "b") + Masked(0x88, "\x03\xe8");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    WebSocketReader reader;
    std::vector<WebSocketReader::Control> controls;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(reader.Feed(std::string_view(bytes).substr(at, piece), controls));
    }
    ASSERT_EQ(controls.size(), 2U);
    EXPECT_EQ(controls[0].opcode, WebSocketOpcode::kPing);
    EXPECT_EQ(controls[0].payload, "ping");
    EXPECT_EQ(controls[1].opcode, WebSocketOpcode::kClose);
    EXPECT_EQ(controls[1].payload, "\x03\xe8");
  }
}

TEST(WebSocket, RefusesBrokenFrames) {
  for (const std::string& bytes : {std::string("\x81\x02") + "ab", Masked(0xc1, "reserved"), Masked(0x83, "opcode"),
                                   Masked(0x09, "a ping in pieces"), Masked(0x89, std::string(200, 'x'))}) {
    WebSocketReader reader;
    std::vector<WebSocketReader::Control> controls;
    EXPECT_FALSE(reader.Feed(bytes, controls)) << bytes;
  }
}

// A server whose handler hands its writer over once the stream has begun.
class WebSocketServerTest : public ::testing::Test {
 protected:
  WebSocketServerTest()
      : server_(MakeServer(io_,
                           [this](const Request& request, std::shared_ptr<ResponseWriter> writer) {
                             auto accepted = AcceptWebSocket(request);
                             ASSERT_TRUE(accepted.ok());
                             writer->OnClosed([this] { closed_.set_value(); });
                             writer->StartStream(std::move(accepted).value());
                             writer_.set_value(std::move(writer));
                           })),
        peer_(peer_io_) {
    peer_.next_layer().connect({asio::ip::make_address("127.0.0.1"), server_->port()});
    peer_.handshake("localhost", "/watch");
  }

  std::string Read() {
    beast::flat_buffer buffer;
    peer_.read(buffer);
    return beast::buffers_to_string(buffer.data());
  }

  IoContext io_;
  std::promise<std::shared_ptr<ResponseWriter>> writer_;
  std::promise<void> closed_;
  std::unique_ptr<HttpServer> server_;
  asio::io_context peer_io_;
  Socket peer_;
};

TEST_F(WebSocketServerTest, SendsMessagesAndEnds) {
  const auto writer = writer_.get_future().get();
  const std::string large(100'000, 'x');
  for (const std::string& text : {std::string("one"), large, std::string("three")}) {
    std::string frame;
    AppendFrame(frame, WebSocketOpcode::kText, text);
    ASSERT_TRUE(writer->Write(frame));
    EXPECT_EQ(Read(), text);
    EXPECT_TRUE(peer_.got_text());
  }
  std::string frame;
  AppendCloseFrame(frame, 1000);
  ASSERT_TRUE(writer->Write(frame));
  writer->End();
  beast::flat_buffer buffer;
  beast::error_code failure;
  peer_.read(buffer, failure);
  EXPECT_EQ(failure, beast::websocket::error::closed);
  EXPECT_EQ(peer_.reason().code, beast::websocket::close_code::normal);
}

TEST_F(WebSocketServerTest, AnswersPings) {
  const auto writer = writer_.get_future().get();
  std::string pong;
  peer_.control_callback([&pong](beast::websocket::frame_type type, beast::string_view payload) {
    if (type == beast::websocket::frame_type::pong) pong = std::string(payload);
  });
  peer_.ping("are you there");
  peer_.write(asio::buffer(std::string("what a watch has no use for")));
  peer_.ping("still");
  // The frame comes after both pongs only if it is written after them: so it is asked for until the last has come.
  while (pong != "still") {
    std::string frame;
    AppendFrame(frame, WebSocketOpcode::kText, "event");
    ASSERT_TRUE(writer->Write(frame));
    EXPECT_EQ(Read(), "event");
  }
}

TEST_F(WebSocketServerTest, TheWriterLearnsThatThePeerCloses) {
  const auto writer = writer_.get_future().get();
  peer_.close(beast::websocket::close_code::normal);  // returns when the server's close frame has come
  closed_.get_future().wait();
  EXPECT_FALSE(writer->Write("x"));
}

TEST_F(WebSocketServerTest, EndsAPeerThatBreaksTheProtocol) {
  const auto writer = writer_.get_future().get();
  asio::write(peer_.next_layer(), asio::buffer(std::string("\x81\x02") + "ab"));  // not masked
  closed_.get_future().wait();
  beast::flat_buffer buffer;
  beast::error_code failure;
  peer_.read(buffer, failure);
  EXPECT_EQ(failure, beast::websocket::error::closed);
  EXPECT_EQ(peer_.reason().code, beast::websocket::close_code::protocol_error);
}

}  // namespace
}  // namespace berth::net
