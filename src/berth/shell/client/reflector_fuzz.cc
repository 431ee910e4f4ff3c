// SPDX-License-Identifier: Apache-2.0
// A reflector, and the lists and watches of a hostile API server. The first byte chooses the wire's form; what follows
// is cut at record separators (0x1e) into answers: the bytes of one, or after a '!' an event of the connection. However
// they are, each object is added, changed and deleted in an order that makes sense, and the reflector goes on.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/test_wire.h"

namespace berth::client {
namespace {

constexpr char kSeparator = '\x1e';
constexpr std::size_t kRecordsMax = 64;

class Server {
 public:
  explicit Server(std::uint8_t form) : is_protobuf_((form & 1) != 0), piece_((form & 4) != 0 ? 3 : SIZE_MAX) {
    RestClientOptions rest_options;
    if (is_protobuf_) SetContentTypes(rest_options, test_wire::kProtobuf, "");
    rest_ = std::make_unique<RestClient>(loop_, transport_, nullptr, 1, rest_options);
    Informer<test_wire::Thing>::Options options;
    options.name = "things";
    options.path = "/api/v1/things";
    options.streams_list = (form & 2) != 0;
    options.line_bytes_max = 4096;
    options.list_bytes_max = 16384;
    options.decode = test_wire::DecodeJson;
    options.decode_protobuf = test_wire::DecodeProtobuf;
    Informer<test_wire::Thing>::Handler handler;
    handler.on_add = [this](const auto& o) { BERTH_CHECK(++count_[o.get()] == 1); };
    handler.on_update = [this](const auto& before, const auto& o) {
      BERTH_CHECK(count_.erase(before.get()) == 1);
      BERTH_CHECK(++count_[o.get()] == 1);
    };
    handler.on_delete = [this](const auto& o) { BERTH_CHECK(count_.erase(o.get()) == 1); };
    handler.on_failure = [](const Error& error) {
      BERTH_CHECK(!error.message.empty());
      for (const char c : error.message) BERTH_CHECK(static_cast<unsigned char>(c) >= 0x20, error.message);
    };
    informer_ = std::make_unique<Informer<test_wire::Thing>>(*rest_, std::move(options), std::move(handler));
    informer_->Start();
    loop_.Run();
  }

  void Take(std::string_view record) {
    if (record.starts_with('!')) {
      Event(record.substr(1));
    } else if (transport_.Waiting() > 0) {
      transport_.Next()->Answer(200, std::string(record), {{"Content-Type", "application/json"}});
    } else if (const auto stream = transport_.LastStream(); stream != nullptr && stream->IsLive()) {
      Open(stream, 200);
      for (std::size_t at = 0; at < record.size() && stream->IsLive(); at += std::min(piece_, record.size() - at))
        stream->Bytes(record.substr(at, piece_));
    } else {
      loop_.Advance(std::chrono::seconds(30));
    }
    loop_.Run();
    std::size_t known = 0;
    informer_->ForEach([&](const std::string&, const auto& o) {
      ++known;
      BERTH_CHECK(count_.contains(o.get()));
    });
    BERTH_CHECK(known == count_.size(), known, count_.size());
  }

 private:
  void Open(const std::shared_ptr<FakeTransport::FakeStream>& stream, int status, std::string body = "") {
    if (stream.get() == opened_) return;
    opened_ = stream.get();
    stream->Head(status, std::move(body), {{"Content-Type", is_protobuf_ ? test_wire::kProtobuf : "application/json"}});
  }

  void Event(std::string_view what) {
    const auto stream = transport_.LastStream();
    const bool is_live = stream != nullptr && stream->IsLive();
    const char kind = what.empty() ? 't' : what[0];
    if (kind == 't') loop_.Advance(std::chrono::seconds(30));
    if (kind == 'e' && is_live) stream->End();
    if (kind == 'f' && is_live) stream->End(Error{ErrorCode::kUnavailable, "connection lost"});
    if (kind == 'f' && !is_live && transport_.Waiting() > 0) transport_.Next()->Fail(ErrorCode::kUnavailable, false);
    if (kind < '0' || kind > '9' || what.size() < 3) return;
    const int status = 100 * (kind - '0') + 10 * (what[1] & 7) + (what[2] & 7);
    if (status < 200) return;
    if (transport_.Waiting() > 0) {
      transport_.Next()->Answer(status, std::string(what.substr(3)));
    } else if (is_live && stream.get() != opened_) {
      Open(stream, status, status / 100 == 2 ? "" : std::string(what.substr(3)));
      if (status / 100 != 2) stream->End();
    }
  }

  const bool is_protobuf_;
  const std::size_t piece_;
  FakeLoop loop_;
  FakeTransport transport_;
  const FakeTransport::FakeStream* opened_ = nullptr;
  std::unique_ptr<RestClient> rest_;
  std::map<const test_wire::Thing*, int> count_;  // of what is known
  std::unique_ptr<Informer<test_wire::Thing>> informer_;
};

}  // namespace
}  // namespace berth::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  berth::log::SetLevel(berth::log::Level::kError);
  berth::client::Server server(data[0]);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (std::size_t records = 0; !rest.empty() && records < berth::client::kRecordsMax; ++records) {
    const std::size_t end = rest.find(berth::client::kSeparator);
    server.Take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return 0;
}
