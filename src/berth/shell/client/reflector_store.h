// SPDX-License-Identifier: Apache-2.0
// ReflectorStore: the objects of a reflector. Reports changes to the handler. On the loop's thread, with the lock of
// ReflectorPhases held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_set.h>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/hash_map.h"
#include "berth/shell/client/reflector.h"

namespace berth::client {

// A resourceVersion in one word. API servers use numbers, which can be ordered; other texts can only be equal.
class ObjectVersion {
 public:
  ObjectVersion() = default;
  explicit ObjectVersion(std::string_view text);
  bool operator==(const ObjectVersion&) const = default;
  bool IsNotAfter(ObjectVersion other) const {
    return value_ == other.value_ || (((value_ | other.value_) & kOpaque) == 0 && value_ < other.value_);
  }

 private:
  static constexpr std::uint64_t kOpaque = std::uint64_t{1} << 63;
  std::uint64_t value_ = 0;
};

// An object as it came, in JSON or protobuf, with its metadata, which is read before decoding.
struct Arrival {
  api::ProtobufMeta meta;
  const simdjson::dom::element* json = nullptr;
  std::string_view protobuf;          // without `json`: the message
  const Error* unreadable = nullptr;  // why there is neither
};

class ReflectorStore {
 public:
  using ObjectPtr = Reflector::ObjectPtr;
  enum class Source : std::uint8_t { kList, kWatch };

  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t decode_failures = 0;
  };

  // All must outlive it. Once `is_stopped` is set, which a handler may do, no handler is called.
  ReflectorStore(const ReflectorOptions& options, const Reflector::Decoders& decoders,
                 const Reflector::Handler& handler, const EventLoop& loop, const bool& is_stopped)
      : options_(options), decoders_(decoders), handler_(handler), loop_(loop), is_stopped_(is_stopped) {}

  // A list begins, or begins again.
  void BeginRound() { ++round_; }
  // A list has ended: removes the objects that it did not have. False when a handler has stopped the reflector.
  bool EndRound();

  void Upsert(const Arrival& object, Source source);
  void Remove(const Arrival& object);

  ObjectPtr Find(std::string_view key) const;
  void ForEach(const std::function<void(const std::string& key, const ObjectPtr& object)>& visit) const;
  std::size_t size() const { return entries_.size(); }
  std::size_t set_aside() const { return set_aside_.size(); }
  const Counts& counts() const { return counts_; }

 private:
  // "namespace/name" and the uid, in one piece of memory: a store holds a hundred thousand of them.
  class Identity {
   public:
    Identity(std::string_view key, std::string_view uid);
    std::string_view key() const { return {text_.get(), key_size_}; }
    std::string_view uid() const { return {text_.get() + key_size_, uid_size_}; }

   private:
    std::uint32_t key_size_;
    std::uint32_t uid_size_;
    std::unique_ptr<char[]> text_;
  };
  struct Entry {
    Identity identity;
    // Mutable: the set finds entries by their identity alone.
    mutable ObjectVersion version;
    mutable std::uint32_t round = 0;  // the last list that had the object
    mutable ObjectPtr object;         // null if the reflector does not keep objects
  };
  struct EntryHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
    std::size_t operator()(const Entry& entry) const { return (*this)(entry.identity.key()); }
  };
  struct EntryEqual {
    using is_transparent = void;
    static std::string_view KeyOf(std::string_view key) { return key; }
    static std::string_view KeyOf(const Entry& entry) { return entry.identity.key(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) == KeyOf(b);
    }
  };
  struct SetAside {
    ObjectVersion version;
    std::uint32_t round = 0;
  };

  Expected<ObjectPtr> Decode(const Arrival& object) const;
  bool ReadKey(const api::ProtobufMeta& meta);
  void Add(const api::ProtobufMeta& meta, ObjectVersion version, const ObjectPtr& object);
  void Forget(std::string_view key);
  bool KeepAside(const std::string& key, ObjectVersion version);
  void LogSetAside(const std::string& key, const std::string& why);

  const ReflectorOptions& options_;
  const Reflector::Decoders& decoders_;
  const Reflector::Handler& handler_;
  const EventLoop& loop_;
  const bool& is_stopped_;

  absl::flat_hash_set<Entry, EntryHash, EntryEqual> entries_;
  StringHashMap<SetAside> set_aside_;
  std::string key_;  // of the object at hand
  std::uint32_t round_ = 0;
  Counts counts_;
  Time set_aside_minute_{};
  int set_aside_lines_ = 0;
};

}  // namespace berth::client
