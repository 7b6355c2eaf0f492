#include "lsm/base/recovery_report.h"

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace lsm {

std::string DroppedLogEnd::Describe() const {
  std::string text =
      Concat(path, ": dropped ", ReadableCount(bytes), " bytes at offset ", ReadableCount(offset));
  if (records > 0) {
    return Concat(text, ", with ", ReadableCount(records),
                  " records that follow writes which an earlier log lost");
  }
  return Concat(text, ", after the last readable record; ",
                synced_before ? "records before them had been synced"
                              : "no record before them is known to have been synced");
}

uint64_t RecoveryReport::dropped_bytes() const {
  uint64_t sum = 0;
  for (const DroppedLogEnd& end : dropped) sum += end.bytes;
  return sum;
}

}  // namespace lsm
