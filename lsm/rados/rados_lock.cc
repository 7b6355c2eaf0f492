#include "lsm/rados/rados_lock.h"

#include <rados/librados.h>

#include <algorithm>

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kNanosInSecond = 1'000'000'000;
constexpr char kExclusive = 1;

// Ceph's encoding: little-endian numbers, and texts after their lengths.
void AddFixed32(uint64_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}
void AddText(std::string_view text, std::string* out) {
  AddFixed32(text.size(), out);
  out->append(text);
}

// Both requests are of version 1, which readers of version 1 understand.
std::string Versioned(const std::string& request) {
  std::string out = "\1\1";
  AddText(request, &out);
  return out;
}

}  // namespace

std::string RadosLockRequest(std::string_view cookie, std::string_view description,
                             uint64_t duration_nanos, bool must_renew) {
  // 0 would mean that the lock does not expire.
  const uint64_t nanos = std::max<uint64_t>(duration_nanos, 1);
  std::string request;
  AddText(kRadosLockName, &request);
  request.push_back(kExclusive);
  AddText(cookie, &request);
  AddText("", &request);  // a tag that shared locks compare
  AddText(description, &request);
  AddFixed32(std::min<uint64_t>(nanos / kNanosInSecond, UINT32_MAX), &request);
  AddFixed32(nanos % kNanosInSecond, &request);
  request.push_back(static_cast<char>(must_renew ? LIBRADOS_LOCK_FLAG_MUST_RENEW : 0));
  return Versioned(request);
}

std::string RadosUnlockRequest(std::string_view cookie) {
  std::string request;
  AddText(kRadosLockName, &request);
  AddText(cookie, &request);
  return Versioned(request);
}

}  // namespace lsm
