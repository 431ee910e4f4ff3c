// SPDX-License-Identifier: Apache-2.0
// Watches as a client with a WebSocket library sees them, over a real socket.
#include "berth/devcluster/apiserver/watch_socket.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "berth/base/time.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/devcluster/apiserver/test_server.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::apiserver {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class WatchSocketTest : public ::testing::Test {
 protected:
  WatchSocketTest()
      : server_(TestTypes(), clock_, {.io = &io_}),
        http_(net::StartHttpServer(io_, {}, server_.handler()).value()),
        peer_(peer_io_) {
    peer_.next_layer().connect({asio::ip::make_address("127.0.0.1"), http_->port()});
    // As Java's client, which sends what a browser would.
    peer_.set_option(beast::websocket::stream_base::decorator([this](beast::websocket::request_type& request) {
      request.set(beast::http::field::origin, "http://" + http_->address());
    }));
  }
  void MakePod(const std::string& name) {
    ASSERT_EQ(Call(server_.handler(), "POST", kPods, PodJson(name)).status, 201);
  }
  void Connect(const std::string& target) { peer_.handshake(http_->address(), target); }
  // "ADDED web" of the next message.
  std::string Next() {
    beast::flat_buffer buffer;
    peer_.read(buffer);
    const json::value event = Json(beast::buffers_to_string(buffer.data()));
    const auto text = [&](const char* path) {
      const json::value value = At(event, path);
      return value.is_string() ? std::string(value.get_string()) : std::string();
    };
    const std::string reason = text("object.reason");
    return text("type") + ' ' + (reason.empty() ? text("object.metadata.name") : reason);
  }
  bool IsClosedNormally() {
    beast::flat_buffer buffer;
    beast::error_code failure;
    peer_.read(buffer, failure);
    return failure == beast::websocket::error::closed && peer_.reason().code == beast::websocket::close_code::normal;
  }

  SystemClock clock_;
  net::IoContext io_;
  ApiServer server_;
  std::unique_ptr<net::HttpServer> http_;
  asio::io_context peer_io_;
  beast::websocket::stream<asio::ip::tcp::socket> peer_;
};

TEST_F(WatchSocketTest, EachEventIsAMessage) {
  MakePod("a");
  MakePod("b");
  Connect(std::string(kPods) + "?watch=true");
  EXPECT_EQ(Next(), "ADDED a");
  EXPECT_TRUE(peer_.got_text());
  EXPECT_EQ(Next(), "ADDED b");
  MakePod("c");
  EXPECT_EQ(Next(), "ADDED c");
  ASSERT_EQ(Call(server_.handler(), "DELETE", std::string(kPods) + "/a").status, 200);
  EXPECT_EQ(Next(), "DELETED a");
  peer_.close(beast::websocket::close_code::normal);
}

TEST_F(WatchSocketTest, ATimeoutEndsItWithACloseFrame) {
  Connect(std::string(kPods) + "?watch=true&timeoutSeconds=1");
  EXPECT_TRUE(IsClosedNormally());
}

TEST_F(WatchSocketTest, AnExpiredVersionIsAnErrorEvent) {
  Connect(std::string(kPods) + "?watch=true&resourceVersion=999999");
  EXPECT_EQ(Next(), "ERROR Expired");
  EXPECT_TRUE(IsClosedNormally());
}

TEST_F(WatchSocketTest, TheDeprecatedPathIsServedToo) {
  MakePod("a");
  MakePod("b");
  Connect("/api/v1/watch/namespaces/default/pods/b");
  EXPECT_EQ(Next(), "ADDED b");
}

TEST_F(WatchSocketTest, WhatIsNoWatchIsAnsweredAsUsual) {
  beast::error_code failure;
  beast::websocket::response_type answer;
  peer_.handshake(answer, http_->address(), std::string(kPods) + "?watch=true&labelSelector=((", failure);
  EXPECT_EQ(failure, beast::websocket::error::upgrade_declined);
  EXPECT_EQ(answer.result_int(), 400U);
}

}  // namespace
}  // namespace berth::apiserver
