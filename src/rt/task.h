// Task<T>: a lazy coroutine that runs on one loop.
//
//   Task<Result<size_t>> copy(ByteStream& from, ByteStream& to);
//   auto copied = co_await copy(a, b);
//
// A task starts when it is awaited (or given to a TaskGroup) and resumes its awaiter when it ends,
// by symmetric transfer: awaiting costs one frame, no queue. Nothing is thrown: operations return
// Result or WaitStatus, cancellation included. A task runs in the Scope of whoever awaits it; see
// scope.h. Frames come from a free list of the thread (frame_pool.h).
//
// Rules: parameters are taken by value or must outlive the task; no lambda coroutine with captures
// outlives its lambda; no lock, iterator or buffer view is held across a co_await.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/check.h"
#include "rt/frame_pool.h"

namespace fairlead::rt {

class Scope;

template <class T>
class Task;

namespace internal {

struct PromiseBase {
  Scope* scope = nullptr;
  std::coroutine_handle<> continuation;

  static void* operator new(size_t size) { return frame_allocate(size); }
  static void operator delete(void* frame, size_t size) { frame_free(frame, size); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept {
    base::check_failed(__FILE__, __LINE__, "task", "exception left a task");
  }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace internal

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs under `scope` instead of the awaiter's: co_await work().in(scope). `scope` must outlive
  // it.
  Task&& in(Scope& scope) && {
    handle_.promise().scope = &scope;
    return std::move(*this);
  }

  bool await_ready() const noexcept { return false; }
  template <class P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> awaiter) noexcept {
    auto& promise = handle_.promise();
    promise.continuation = awaiter;
    if (promise.scope == nullptr) promise.scope = awaiter.promise().scope;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace internal {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace internal

}  // namespace fairlead::rt
