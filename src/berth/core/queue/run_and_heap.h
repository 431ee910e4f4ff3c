// SPDX-License-Identifier: Apache-2.0
// RunAndHeap: a priority queue for elements that mostly arrive in order. An element that sorts behind the last one is
// appended to a FIFO run; any other goes into a heap. The combined order is that of a single heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/core/queue/indexed_heap.h"

namespace berth::queue {

// T and Less must be as for IndexedHeap.
template <typename T, typename Less>
class RunAndHeap {
 public:
  using Key = typename Less::Key;

  explicit RunAndHeap(Less less) : less_(less), heap_(std::move(less)) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return run_count_ + heap_.size(); }
  T* front() const { return IsFrontInRun() ? run_[head_].element : heap_.front(); }

  // The element `count` places behind the front of the run, for prefetching; null if there is none. Elements of the
  // heap may come earlier.
  T* Next(std::size_t count) const {
    const std::size_t at = head_ + count;
    return run_count_ > 0 && at < run_.size() ? run_[at].element : nullptr;
  }

  void Push(T* element, Key key) {
    Slot slot{std::move(key), element};
    if (run_count_ > 0 && less_(slot, run_.back())) return heap_.Push(element, std::move(slot.key));
    if (run_.size() >= kInRun) return heap_.Push(element, std::move(slot.key));
    element->position = static_cast<std::uint32_t>(run_.size()) | kInRun;
    run_.push_back(std::move(slot));
    ++run_count_;
  }

  void Remove(T* element) {
    if ((element->position & kInRun) == 0) return heap_.Remove(element);
    run_[element->position & ~kInRun].element = nullptr;
    if (--run_count_ == 0) return Restart();
    // The ends of the run always hold an element.
    while (run_.back().element == nullptr) run_.pop_back();
    while (run_[head_].element == nullptr) ++head_;
    if (run_.size() > 2 * run_count_ + kSlackMax) Compact();
  }

  // The key of `element` has changed.
  void Reorder(T* element, Key key) {
    if ((element->position & kInRun) == 0) return heap_.Reorder(element, std::move(key));
    Remove(element);
    Push(element, std::move(key));
  }

 private:
  using Slot = HeapSlot<T, Key>;
  // Flag in T::position: the element is in the run.
  static constexpr std::uint32_t kInRun = std::uint32_t{1} << 31;
  static constexpr std::size_t kSlackMax = 1024;

  bool IsFrontInRun() const { return run_count_ > 0 && (heap_.empty() || less_(run_[head_], heap_.front_slot())); }

  void Restart() {
    head_ = 0;
    if (run_.capacity() > 4 * kSlackMax) {
      run_ = {};
    } else {
      run_.clear();
    }
  }

  void Compact() {
    std::size_t count = 0;
    for (std::size_t i = head_; i < run_.size(); ++i) {
      if (run_[i].element == nullptr) continue;
      run_[i].element->position = static_cast<std::uint32_t>(count) | kInRun;
      if (count != i) run_[count] = std::move(run_[i]);
      ++count;
    }
    run_.resize(count);
    head_ = 0;
    if (run_.capacity() > 4 * count + 4 * kSlackMax) run_.shrink_to_fit();
  }

  Less less_;
  IndexedHeap<T, Less> heap_;
  std::vector<Slot> run_;  // sorted from head_ on; a slot without element was removed
  std::size_t head_ = 0;
  std::size_t run_count_ = 0;
};

}  // namespace berth::queue
