#include "lsm/reports.h"

#include <utility>

#include "lsm/bytes/json_writer.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

std::string DroppedLogEnd::Describe() const { return Concat(path, ": dropped ", DescribeBytes()); }

std::string DroppedLogEnd::DescribeBytes() const {
  std::string text = Concat(ReadableCount(bytes), " bytes at offset ", ReadableCount(offset));
  if (records > 0) {
    return Concat(text, ", with ", ReadableCount(records),
                  " records that follow writes which an earlier log lost");
  }
  return Concat(text, ", after the last readable record; ",
                synced_before ? "records before them had been synced"
                              : "no record before them is known to have been synced");
}

std::string DroppedLogEnd::ToJson() const {
  JsonWriter json;
  json.BeginObject();
  json.Member("path", path);
  json.Member("offset", offset);
  json.Member("bytes", bytes);
  json.Member("records", records);
  json.Member("synced_before", synced_before);
  json.EndObject();
  return std::move(json).Take();
}

uint64_t RecoveryReport::dropped_bytes() const {
  uint64_t sum = 0;
  for (const DroppedLogEnd& end : dropped) sum += end.bytes;
  return sum;
}

}  // namespace lsm
