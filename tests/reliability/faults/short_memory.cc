#include "tests/reliability/faults/short_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "lsm/block/block_memory.h"

namespace reliability {
namespace {

constinit thread_local ShortMemory short_memory;

// Null if there is no memory, or if the allocation must fail.
void* Allocate(std::size_t size, std::size_t alignment) {
  if (!short_memory.has_regions && alignment == lsm::BlockMemory::kRegionBytes) return nullptr;
  if (short_memory.in_store > 0) {
    const uint64_t number = short_memory.count++;
    if (number >= short_memory.from && number < short_memory.to) {
      ++short_memory.failed;
      return nullptr;
    }
  }
  if (size == 0) size = 1;
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++short_memory.live;
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr) --short_memory.live;
  std::free(memory);
}

void* AllocateOrThrow(std::size_t size, std::size_t alignment) {
  void* const memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

ShortMemory& ShortMemory::OfThisThread() { return short_memory; }

void TakeMemory() { Free(AllocateOrThrow(1, 1)); }

}  // namespace reliability

// ThreadSanitizer's runtime replaces these operators already, and there can be only one
// replacement.  With it, only TakeMemory fails.
#if defined(__SANITIZE_THREAD__)
#define TRELLIS_OPERATOR_NEW_IS_TAKEN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRELLIS_OPERATOR_NEW_IS_TAKEN
#endif
#endif

#ifndef TRELLIS_OPERATOR_NEW_IS_TAKEN
using reliability::Allocate;
using reliability::AllocateOrThrow;
using reliability::Free;

// All the operators that the standard allows a program to replace.
void* operator new(std::size_t size) { return AllocateOrThrow(size, 1); }
void* operator new[](std::size_t size) { return AllocateOrThrow(size, 1); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(memory);
}
#endif  // TRELLIS_OPERATOR_NEW_IS_TAKEN
