#include "lsm/runtime/writer_queue.h"

#include <algorithm>

#include "lsm/base/encoded_batch.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The most bytes of a group.  The group of a small leader only grows by the second limit, so that a
// small write does not wait for a large one.
constexpr size_t kGroupBytesMax = size_t{1} << 20;
constexpr size_t kSmallGroupBytesMax = size_t{128} << 10;
// The memory of a larger group, which is rare, is not kept.
constexpr size_t kKeptBytesMax = 4 * kGroupBytesMax;

}  // namespace

bool WriterQueue::Join(Writer* writer, Mutex* mutex, Scheduler* scheduler) {
  writers_.push_back(writer);
  while (!writer->done && writers_.front() != writer) writer->wake.Wait(mutex, scheduler);
  return !writer->done;
}

WriterQueue::Group WriterQueue::BuildGroup(const Writer& leader,
                                           absl::FunctionRef<bool(uint64_t)> may_put) {
  const size_t leader_bytes = leader.batch->size_bytes();
  const size_t bytes_max = leader_bytes <= kSmallGroupBytesMax
                               ? leader_bytes + kSmallGroupBytesMax
                               : std::max(leader_bytes, kGroupBytesMax);
  group_bytes_.assign(EncodedBatch::Of(*leader.batch));
  uint32_t count = leader.batch->count();
  Group group{writers_.front(), leader.sync, &group_bytes_};
  for (size_t i = 1; i < writers_.size(); ++i) {
    Writer* next = writers_[i];
    if (leader.task != Writer::Task::kWrite || next->task != Writer::Task::kWrite) break;
    if (next->sync && !leader.sync) break;
    if (!EncodedBatch::CheckNoneDropped(*next->batch).ok()) break;  // leads itself, and fails
    const size_t bytes = group_bytes_.size() + next->batch->size_bytes();
    if (bytes > bytes_max) break;
    if (next->batch->has_puts() && !may_put(bytes)) break;  // leads itself
    group_bytes_.append(EncodedBatch::Of(*next->batch).substr(EncodedBatch::kHeaderBytes));
    count += next->batch->count();
    group.last = next;
  }
  EncodedBatch::SetCount(&group_bytes_, count);
  return group;
}

bool WriterQueue::Finish(Writer* leader, const Writer* last, const absl::Status& status) {
  if (group_bytes_.capacity() > kKeptBytesMax) std::string().swap(group_bytes_);
  for (;;) {
    Writer* done = writers_.front();
    writers_.pop_front();
    if (done != leader) {
      done->status = status;
      done->done = true;
      done->wake.Signal();
    }
    if (done == last) break;
  }
  if (writers_.empty()) return false;
  writers_.front()->wake.Signal();
  return true;
}

}  // namespace lsm
