// CycleState: what a plugin computed in PreFilter or PreScore, for its later calls in the same scheduling cycle.
// Values are shared between the cycles of a pod class and so immutable; AddPod and RemovePod change a clone.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::framework {

class StateData {
 public:
  virtual ~StateData() = default;
  // A deep copy, for evaluations with other pods on a node (AddPod, RemovePod). Only plugins with PreFilterExtensions
  // need it.
  virtual std::unique_ptr<StateData> Clone() const { return nullptr; }
};

class CycleState {
 public:
  // `key` must outlive the state: a string literal.
  void Write(std::string_view key, std::shared_ptr<StateData> data) {
    for (auto& [k, d] : entries_) {
      if (k == key) {
        d = std::move(data);
        return;
      }
    }
    entries_.emplace_back(key, std::move(data));
  }

  // Null when nothing was written under the key.
  template <typename T>
  const T* Read(std::string_view key) const {
    return static_cast<const T*>(Find(key));
  }
  template <typename T>
  T* Mutable(std::string_view key) {
    return static_cast<T*>(const_cast<StateData*>(Find(key)));
  }

  // Takes over what another state holds, sharing it.
  void MergeFrom(const CycleState& other) {
    for (const auto& [k, d] : other.entries_) Write(k, d);
  }

  CycleState Clone() const {
    CycleState copy;
    for (const auto& [k, d] : entries_) {
      std::shared_ptr<StateData> cloned = d->Clone();
      copy.entries_.emplace_back(k, cloned ? std::move(cloned) : d);
    }
    return copy;
  }

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
