// A circular doubly linked list through nodes that live in their owner: no allocation, and a node
// leaves its list by itself in O(1). Not thread safe; one loop.
#pragma once

#include "base/check.h"

namespace fairlead::rt {

struct ListNode {
  ListNode* previous = this;
  ListNode* next = this;

  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  bool linked() const { return next != this; }
  void unlink() {
    previous->next = next;
    next->previous = previous;
    previous = next = this;
  }
};

// The head of a list of T, where T derives from the node type `Node`.
template <class T, class Node = ListNode>
class List {
 public:
  bool empty() const { return !head_.linked(); }
  void push_back(T& item) {
    Node& node = item;
    DCHECK(!node.linked());
    node.previous = head_.previous;
    node.next = &head_;
    head_.previous->next = &node;
    head_.previous = &node;
  }
  // nullptr when empty.
  T* front() { return empty() ? nullptr : static_cast<T*>(static_cast<Node*>(head_.next)); }
  T* back() { return empty() ? nullptr : static_cast<T*>(static_cast<Node*>(head_.previous)); }
  // `visit` must not add or remove items.
  template <class F>
  void for_each(F visit) {
    for (ListNode* node = head_.next; node != &head_; node = node->next) {
      visit(*static_cast<T*>(static_cast<Node*>(node)));
    }
  }

 private:
  ListNode head_;
};

}  // namespace fairlead::rt
