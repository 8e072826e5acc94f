// InstanceLock: at most one `fairlead up` a port on a machine. A socket in Linux's abstract
// namespace: it has no file that a crash could leave behind, and it tells who holds it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"

namespace fairlead::laptop {

class InstanceLock {
 public:
  InstanceLock(InstanceLock&& other) noexcept;
  InstanceLock& operator=(InstanceLock&&) = delete;
  ~InstanceLock();

  // kConflict, with the other's process id in the message, if it is taken.
  static base::Result<InstanceLock> take(uint16_t port);

 private:
  explicit InstanceLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fairlead::laptop
