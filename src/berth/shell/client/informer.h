// SPDX-License-Identifier: Apache-2.0
// Informer<T>: a Reflector whose objects have a type.
//
// The handler sees each object's life as add, updates and delete. Versions that are known already are not reported
// again. After lost history it gets the differences between the new list and the store. An object that was replaced by
// one of the same name (with another uid) is a delete and an add. An object that does not decode does not disturb
// others: its last good version, if there is one, stays until a version decodes or the object is gone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/shell/client/reflector.h"

namespace berth::client {

template <typename T>
class Informer {
 public:
  using Ptr = std::shared_ptr<const T>;

  struct Options : ReflectorOptions {
    std::function<Expected<Ptr>(const simdjson::dom::element& object)> decode;
    std::function<Expected<Ptr>(std::string_view message)> decode_protobuf;  // optional
  };

  // All callbacks are optional and come on the loop's thread.
  struct Handler {
    std::function<void(Ptr object)> on_add;
    std::function<void(Ptr before, Ptr object)> on_update;
    std::function<void(Ptr last_known)> on_delete;
    std::function<void(const Reflector::Identity& gone)> on_gone;
    std::function<void()> on_synced;
    std::function<void(const Error&)> on_failure;
  };

  // `rest` must outlive it.
  Informer(RestClient& rest, Options options, Handler handler)
      : reflector_(rest, options, Erase(options), Erase(std::move(handler))) {}

  void Start() { reflector_.Start(); }
  void Refresh(std::function<void()> on_fresh) { reflector_.Refresh(std::move(on_fresh)); }
  void Stop() { reflector_.Stop(); }
  bool HasSynced() const { return reflector_.HasSynced(); }
  Ptr Find(std::string_view key) const { return Cast(reflector_.Find(key)); }
  void ForEach(const std::function<void(const std::string& key, const Ptr& object)>& visit) const {
    reflector_.ForEach(
        [&visit](const std::string& key, const Reflector::ObjectPtr& object) { visit(key, Cast(object)); });
  }
  ReflectorStats Stats() const { return reflector_.Stats(); }

 private:
  static Ptr Cast(const Reflector::ObjectPtr& object) { return std::static_pointer_cast<const T>(object); }

  static Reflector::Decoders Erase(const Options& options) {
    Reflector::Decoders erased;
    erased.json = [decode = options.decode](const simdjson::dom::element& element) -> Expected<Reflector::ObjectPtr> {
      BERTH_ASSIGN_OR_RETURN(Ptr object, decode(element));
      return Reflector::ObjectPtr(std::move(object));
    };
    if (options.decode_protobuf) {
      erased.protobuf = [decode = options.decode_protobuf](std::string_view message) -> Expected<Reflector::ObjectPtr> {
        BERTH_ASSIGN_OR_RETURN(Ptr object, decode(message));
        return Reflector::ObjectPtr(std::move(object));
      };
    }
    return erased;
  }

  static Reflector::Handler Erase(Handler handler) {
    Reflector::Handler erased;
    if (handler.on_add) {
      erased.on_add = [f = std::move(handler.on_add)](const Reflector::ObjectPtr& object) { f(Cast(object)); };
    }
    if (handler.on_update) {
      erased.on_update = [f = std::move(handler.on_update)](const Reflector::ObjectPtr& before,
                                                            const Reflector::ObjectPtr& object) {
        f(Cast(before), Cast(object));
      };
    }
    if (handler.on_delete) {
      erased.on_delete = [f = std::move(handler.on_delete)](const Reflector::ObjectPtr& object) { f(Cast(object)); };
    }
    erased.on_gone = std::move(handler.on_gone);
    erased.on_synced = std::move(handler.on_synced);
    erased.on_failure = std::move(handler.on_failure);
    return erased;
  }

  Reflector reflector_;
};

}  // namespace berth::client
