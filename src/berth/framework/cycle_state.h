// SPDX-License-Identifier: Apache-2.0
// CycleState: data that a plugin computes in PreFilter or PreScore, stored under a key for its later calls in the same
// scheduling cycle. Copies share their entries (copy on write). Within turns only.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::framework {

class StateData {
 public:
  virtual ~StateData() = default;
  // Returns a deep copy, for what-if trials with other pods on a node (AddPod, RemovePod). Only plugins with
  // PreFilterExtensions need it. If it returns null, Mutable() changes the entry in all states that share it.
  virtual std::unique_ptr<StateData> Clone() const { return nullptr; }
};

class CycleState {
 public:
  CycleState() = default;
  CycleState(const CycleState&) = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(const CycleState&) = default;
  // Keeps the allocated memory when `other` is empty, as at the start of each cycle.
  CycleState& operator=(CycleState&& other) noexcept {
    if (other.entries_.empty()) {
      entries_.clear();
    } else {
      entries_ = std::move(other.entries_);
    }
    return *this;
  }
  ~CycleState() = default;

  // `key` must outlive the state, as a string literal does.
  void Write(std::string_view key, std::shared_ptr<StateData> data) {
    for (auto& [k, d] : entries_) {
      if (k == key) {
        d = std::move(data);
        return;
      }
    }
    entries_.emplace_back(key, std::move(data));
  }

  // Null when the key has no entry.
  template <typename T>
  const T* Read(std::string_view key) const {
    return static_cast<const T*>(Find(key));
  }
  // The entry for modification: a shared entry is copied first. Use Read() if nothing is changed. Null when the key has
  // no entry.
  template <typename T>
  T* Mutable(std::string_view key) {
    for (auto& [k, d] : entries_) {
      if (k.data() != key.data() && k != key) continue;
      if (d.use_count() > 1) {
        if (std::shared_ptr<StateData> own = d->Clone()) d = std::move(own);
      }
      return static_cast<T*>(d.get());
    }
    return nullptr;
  }

  // Adds the entries of another state, which are then shared.
  void MergeFrom(const CycleState& other) {
    for (const auto& [k, d] : other.entries_) Write(k, d);
  }

  // Costs one shared pointer for each entry.
  CycleState Clone() const { return *this; }

 private:
  const StateData* Find(std::string_view key) const {
    for (const auto& [k, d] : entries_) {
      if (k.data() == key.data() || k == key) return d.get();
    }
    return nullptr;
  }

  std::vector<std::pair<std::string_view, std::shared_ptr<StateData>>> entries_;
};

}  // namespace berth::framework
