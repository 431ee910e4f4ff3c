// IndexedHeap: a binary heap of pointers whose elements know their place in it, so that any of them can be taken out or
// moved when its order changes. T has a member `std::uint32_t position` that belongs to the heap while T is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::queue {

// `Less` is a strict total order on const T&, and may only change its mind about an element together with Reorder.
template <typename T, typename Less>
class IndexedHeap {
 public:
  explicit IndexedHeap(Less less) : less_(std::move(less)) {}

  bool empty() const { return slots_.empty(); }
  std::size_t size() const { return slots_.size(); }
  T* front() const { return slots_.front(); }

  void Push(T* element) {
    slots_.push_back(element);
    SiftUp(slots_.size() - 1, element);
  }

  T* Pop() {
    T* const top = slots_.front();
    Remove(top);
    return top;
  }

  void Remove(T* element) {
    const std::size_t hole = element->position;
    T* const last = slots_.back();
    slots_.pop_back();
    if (last != element) FillHole(hole, last);
  }

  // The order of `element` has changed.
  void Reorder(T* element) { FillHole(element->position, element); }

 private:
  // Goes down along the smaller children to a leaf and up again from there: a replacement comes from the bottom and
  // mostly belongs there, so this takes about half the comparisons of the textbook way.
  void FillHole(std::size_t hole, T* element) {
    for (;;) {
      std::size_t child = 2 * hole + 1;
      if (child >= slots_.size()) break;
      if (child + 1 < slots_.size() && less_(*slots_[child + 1], *slots_[child])) ++child;
      Put(hole, slots_[child]);
      hole = child;
    }
    SiftUp(hole, element);
  }

  void SiftUp(std::size_t hole, T* element) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!less_(*element, *slots_[parent])) break;
      Put(hole, slots_[parent]);
      hole = parent;
    }
    Put(hole, element);
  }

  void Put(std::size_t slot, T* element) {
    slots_[slot] = element;
    element->position = static_cast<std::uint32_t>(slot);
  }

  Less less_;
  std::vector<T*> slots_;
};

}  // namespace berth::queue
