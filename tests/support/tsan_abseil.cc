// Tells ThreadSanitizer about absl::Mutex and absl::CondVar.
//
// Debian's Abseil is a shared library built without ThreadSanitizer, which therefore does not see
// what its locks order and reports races where there are none.  The definitions here stand before
// those of the library in every program that they are linked to (also for calls from within the
// library, such as those of absl::Notification); each announces what it does and calls the
// library's own.  As a bonus ThreadSanitizer then finds locks that are taken in contradictory
// orders.
//
// What it cannot see: the evaluation of an absl::Condition, which happens inside the library's
// calls.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/base/options.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#if ABSL_OPTION_USE_INLINE_NAMESPACE != 1
#error "the symbols below are looked up by their names within Abseil's inline namespace"
#endif
#define TRELLIS_STRING_OF(x) #x
#define TRELLIS_STRING(x) TRELLIS_STRING_OF(x)

namespace {

// The library's own definition of "5Mutex4LockEv" or the like (what follows the namespace in a
// mangled name).
void* Find(const char* mangled_tail) {
  const std::string inline_namespace = TRELLIS_STRING(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  const std::string symbol =
      "_ZN4absl" + std::to_string(inline_namespace.size()) + inline_namespace + mangled_tail;
  void* found = dlsym(RTLD_NEXT, symbol.c_str());
  if (found == nullptr) {
    std::fprintf(stderr, "tsan_abseil.cc: the Abseil library lacks %s\n", symbol.c_str());
    std::abort();
  }
  return found;
}

template <typename Function>
Function As(void* symbol) {
  return reinterpret_cast<Function>(symbol);
}

// The library calls some of these functions from others of them; only the outermost call is
// announced.
thread_local int depth = 0;
struct Inside {
  Inside() { ++depth; }
  ~Inside() { --depth; }
  bool outermost() const { return depth == 1; }
};

constexpr unsigned kWrite = 0;
constexpr unsigned kRead = __tsan_mutex_read_lock;

// A call that returns with the mutex held.
template <typename Call>
void Announced(absl::Mutex* mutex, unsigned how, Call call) {
  const Inside inside;
  if (inside.outermost()) __tsan_mutex_pre_lock(mutex, how);
  call();
  if (inside.outermost()) __tsan_mutex_post_lock(mutex, how, 0);
}

template <typename Call>
bool AnnouncedTry(absl::Mutex* mutex, unsigned how, Call call) {
  const Inside inside;
  how |= __tsan_mutex_try_lock;
  if (inside.outermost()) __tsan_mutex_pre_lock(mutex, how);
  const bool taken = call();
  if (inside.outermost()) {
    __tsan_mutex_post_lock(mutex, how | (taken ? 0u : unsigned{__tsan_mutex_try_lock_failed}), 0);
  }
  return taken;
}

template <typename Call>
void AnnouncedUnlock(absl::Mutex* mutex, unsigned how, Call call) {
  const Inside inside;
  if (inside.outermost()) __tsan_mutex_pre_unlock(mutex, how);
  call();
  if (inside.outermost()) __tsan_mutex_post_unlock(mutex, how);
}

// A call that lets the held mutex go and returns with it held again.
template <typename Call>
auto AnnouncedWait(absl::Mutex* mutex, Call call) {
  const Inside inside;
  if (inside.outermost()) {
    __tsan_mutex_pre_unlock(mutex, kWrite);
    __tsan_mutex_post_unlock(mutex, kWrite);
    __tsan_mutex_pre_lock(mutex, kWrite);
  }
  const auto result = call();
  if (inside.outermost()) __tsan_mutex_post_lock(mutex, kWrite, 0);
  return result;
}

using MutexCall = void (*)(absl::Mutex*);
using MutexTry = bool (*)(absl::Mutex*);
using MutexWait = void (*)(absl::Mutex*, const absl::Condition&);
using MutexWaitFor = bool (*)(absl::Mutex*, const absl::Condition&, absl::Duration);
using MutexWaitUntil = bool (*)(absl::Mutex*, const absl::Condition&, absl::Time);
using CondVarWait = void (*)(absl::CondVar*, absl::Mutex*);
using CondVarWaitFor = bool (*)(absl::CondVar*, absl::Mutex*, absl::Duration);
using CondVarWaitUntil = bool (*)(absl::CondVar*, absl::Mutex*, absl::Time);

}  // namespace

absl::Mutex::~Mutex() {
  static const auto real = As<MutexCall>(Find("5MutexD1Ev"));
  __tsan_mutex_destroy(this, __tsan_mutex_not_static);
  real(this);
}

void absl::Mutex::Lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexCall>(Find("5Mutex4LockEv"));
  Announced(this, kWrite, [this] { real(this); });
}

bool absl::Mutex::TryLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexTry>(Find("5Mutex7TryLockEv"));
  return AnnouncedTry(this, kWrite, [this] { return real(this); });
}

void absl::Mutex::Unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexCall>(Find("5Mutex6UnlockEv"));
  AnnouncedUnlock(this, kWrite, [this] { real(this); });
}

void absl::Mutex::ReaderLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexCall>(Find("5Mutex10ReaderLockEv"));
  Announced(this, kRead, [this] { real(this); });
}

bool absl::Mutex::ReaderTryLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexTry>(Find("5Mutex13ReaderTryLockEv"));
  return AnnouncedTry(this, kRead, [this] { return real(this); });
}

void absl::Mutex::ReaderUnlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexCall>(Find("5Mutex12ReaderUnlockEv"));
  AnnouncedUnlock(this, kRead, [this] { real(this); });
}

void absl::Mutex::LockWhen(const Condition& condition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  static const auto real = As<MutexWait>(Find("5Mutex8LockWhenERKNS0_9ConditionE"));
  Announced(this, kWrite, [&] { real(this, condition); });
}

void absl::Mutex::Await(const Condition& condition) {
  static const auto real = As<MutexWait>(Find("5Mutex5AwaitERKNS0_9ConditionE"));
  AnnouncedWait(this, [&] { return real(this, condition), true; });
}

bool absl::Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  static const auto real =
      As<MutexWaitFor>(Find("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE"));
  return AnnouncedWait(this, [&] { return real(this, condition, timeout); });
}

bool absl::Mutex::AwaitWithDeadline(const Condition& condition, absl::Time deadline) {
  static const auto real =
      As<MutexWaitUntil>(Find("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  return AnnouncedWait(this, [&] { return real(this, condition, deadline); });
}

void absl::CondVar::Wait(Mutex* mutex) {
  static const auto real = As<CondVarWait>(Find("7CondVar4WaitEPNS0_5MutexE"));
  AnnouncedWait(mutex, [&] { return real(this, mutex), true; });
}

bool absl::CondVar::WaitWithTimeout(Mutex* mutex, absl::Duration timeout) {
  static const auto real =
      As<CondVarWaitFor>(Find("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE"));
  return AnnouncedWait(mutex, [&] { return real(this, mutex, timeout); });
}

bool absl::CondVar::WaitWithDeadline(Mutex* mutex, absl::Time deadline) {
  static const auto real =
      As<CondVarWaitUntil>(Find("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"));
  return AnnouncedWait(mutex, [&] { return real(this, mutex, deadline); });
}
