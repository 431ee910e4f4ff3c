// SPDX-License-Identifier: Apache-2.0
// ReflectorList: reads the list of a reflector, page by page, in JSON or in protobuf, and puts the objects into the
// store. Its owner decides what comes after the list.
//
// On the loop's thread, with the lock of the phases held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/shell/client/reflector_shared.h"

namespace berth::client {

class ReflectorList {
 public:
  // Each call ends the list; the owner begins the next phase.
  class Owner {
   public:
    // All pages are in the store. `version` is that of the list.
    virtual void OnListWhole(const std::string& version) = 0;
    virtual void OnListFailed(const Error& error) = 0;

   protected:
    ~Owner() = default;
  };

  // Both must outlive it.
  ReflectorList(ReflectorShared& shared, Owner& owner) : shared_(shared), owner_(owner) {}

  // Begins a list from its first page.
  void Start() { StartPages(true); }

 private:
  void StartPages(bool in_pages);
  std::size_t BytesMax() const;  // of a page in JSON
  void RequestPage();
  void StreamPage(net::Request request);
  Expected<void> TakeItem(std::string_view item, std::uint64_t phase);
  void OnPageHead(const net::Response& head);
  void ListAsJson(std::string_view why);
  void OnPageBytes(std::string_view bytes);
  void OnPageEnd(Expected<void> result);
  void FailPage(const Error& error);
  void OnPage(Expected<net::Response> page);
  void NextPage(bool is_last);
  Expected<bool> TakePage(const std::string& body, std::uint64_t phase);
  Expected<bool> TakePageInSlices(const std::string& body, std::uint64_t phase, const Error& problem);

  ReflectorShared& shared_;
  Owner& owner_;
  bool in_pages_ = true;
  int pages_ = 0;
  int page_failures_ = 0;  // of the page that is being streamed
  std::optional<api::ProtobufListReader> list_reader_;
  bool is_checked_ = false;  // the version of the page that is being streamed
  std::string continue_;
  std::string version_;
};

}  // namespace berth::client
