// SPDX-License-Identifier: Apache-2.0
// IndexedHeap: a binary heap of pointers whose elements store their index, so that any element can be removed or moved.
// The heap owns the member `std::uint32_t position` of T while T is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::queue {

// The sort key is stored with the pointer, so that a comparison reads no element.
template <typename T, typename KeyType>
struct HeapSlot {
  KeyType key;
  T* element = nullptr;
};

// `Less` is a strict total order on const HeapSlot<T, Less::Key>&. An element's key may only be changed with Reorder.
template <typename T, typename Less>
class IndexedHeap {
 public:
  using Key = typename Less::Key;
  using Slot = HeapSlot<T, Key>;

  explicit IndexedHeap(Less less) : less_(std::move(less)) {}

  bool empty() const { return slots_.empty(); }
  std::size_t size() const { return slots_.size(); }
  T* front() const { return slots_.front().element; }
  const Slot& front_slot() const { return slots_.front(); }

  void Push(T* element, Key key) {
    slots_.emplace_back();
    SiftUp(slots_.size() - 1, {std::move(key), element});
  }

  void Remove(T* element) {
    const std::size_t hole = element->position;
    Slot last = std::move(slots_.back());
    slots_.pop_back();
    if (last.element != element) FillHole(hole, std::move(last));
  }

  // The key of `element` has changed.
  void Reorder(T* element, Key key) { FillHole(element->position, {std::move(key), element}); }

 private:
  // Moves the hole down along the smaller children to a leaf, and then the slot up from there. The slot usually comes
  // from the bottom and belongs there, so this takes about half the comparisons of the textbook sift-down.
  void FillHole(std::size_t hole, Slot slot) {
    for (;;) {
      std::size_t child = 2 * hole + 1;
      if (child >= slots_.size()) break;
      if (child + 1 < slots_.size() && less_(slots_[child + 1], slots_[child])) ++child;
      Put(hole, std::move(slots_[child]));
      hole = child;
    }
    SiftUp(hole, std::move(slot));
  }

  void SiftUp(std::size_t hole, Slot slot) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!less_(slot, slots_[parent])) break;
      Put(hole, std::move(slots_[parent]));
      hole = parent;
    }
    Put(hole, std::move(slot));
  }

  void Put(std::size_t at, Slot slot) {
    slot.element->position = static_cast<std::uint32_t>(at);
    slots_[at] = std::move(slot);
  }

  Less less_;
  std::vector<Slot> slots_;
};

}  // namespace berth::queue
