// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/watch_socket.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/shell/net/websocket.h"

namespace berth::apiserver {
namespace {

constexpr std::uint16_t kNormalEnd = 1000;

class WatchSocket final : public net::ResponseWriter {
 public:
  WatchSocket(net::Response handshake, std::shared_ptr<net::ResponseWriter> writer)
      : handshake_(std::move(handshake)), writer_(std::move(writer)) {}

  void Send(net::Response response) override { writer_->Send(std::move(response)); }

  void StartStream(net::Response response) override {
    writer_->StartStream(handshake_);
    if (!response.body.empty()) (void)Write(response.body);  // OnClosed() handles a peer that has gone
  }

  // Events come whole, as lines.
  bool Write(std::string_view bytes) override {
    std::string frames;
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      net::AppendFrame(frames, net::WebSocketOpcode::kText, bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return writer_->Write(frames);
  }

  void End() override {
    std::string frame;
    net::AppendCloseFrame(frame, kNormalEnd);
    (void)writer_->Write(frame);  // when it fails, the peer has gone already
    writer_->End();
  }

  std::size_t BufferedBytes() const override { return writer_->BufferedBytes(); }
  void Abort() override { writer_->Abort(); }
  void OnClosed(std::function<void()> closed) override { writer_->OnClosed(std::move(closed)); }
  std::shared_ptr<const std::vector<std::string>> PeerCertificates() const override {
    return writer_->PeerCertificates();
  }

 private:
  const net::Response handshake_;
  const std::shared_ptr<net::ResponseWriter> writer_;
};

}  // namespace

objects::Outcome<std::shared_ptr<net::ResponseWriter>> MakeWatchSocket(const net::Request& request,
                                                                       std::shared_ptr<net::ResponseWriter> writer) {
  auto handshake = net::AcceptWebSocket(request);
  if (!handshake.ok()) return objects::BadRequest(handshake.error().message);
  return std::shared_ptr<net::ResponseWriter>(
      std::make_shared<WatchSocket>(std::move(handshake).value(), std::move(writer)));
}

}  // namespace berth::apiserver
