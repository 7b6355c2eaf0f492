#include "lsm/compaction/compaction_schedule.h"

#include <algorithm>
#include <utility>

namespace lsm::inline TRELLIS_ABI {

void CompactionSchedule::Add(Request* request) {
  requests_.push_back(request);
  NoteChange();
}

void CompactionSchedule::Withdraw(Request* request) { std::erase(requests_, request); }

CompactionSchedule::Plans CompactionSchedule::StartChoosing(Job* job) {
  Plans running = running_;
  job->revision = revision_;
  if (!requests_.empty()) {
    job->request = requests_.front();
    job->request->in_hand = true;
  }
  return running;
}

void CompactionSchedule::Choose(const Options& options, const Plans& running, uint64_t paid_bytes,
                                Job* job) {
  const Request* const request = job->request;
  std::optional<CompactionPlan> plan =
      request != nullptr ? PlanRange(*job->version, request->level, request->from, request->to)
                         : PickCompaction(*job->version, options, running, paid_bytes);
  // While a request waits, no other compaction begins.  Otherwise the request might wait for ever.
  job->found_nothing = request == nullptr ? !plan : plan && Conflicts(*plan, running);
  if (plan && !job->found_nothing)
    job->plan = std::make_shared<const CompactionPlan>(*std::move(plan));
}

bool CompactionSchedule::Begin(Job* job) {
  is_choosing_ = false;
  job->has_begun = true;
  if (job->found_nothing) idle_revision_ = job->revision;
  if (job->request != nullptr) {
    if (job->found_nothing) {
      std::exchange(job->request, nullptr)->in_hand = false;
    } else {
      std::erase(requests_, job->request);
    }
  }
  if (job->plan == nullptr) return false;
  running_.push_back(job->plan);  // Reserve took the memory
  if (running_.size() <= most_running_) return false;
  most_running_ = running_.size();
  return true;
}

bool CompactionSchedule::IsForReadersAlone(const Job& job, const Version& version,
                                           const Options& options) const {
  if (job.plan != nullptr) return job.plan->for_readers;
  return job.request == nullptr && !DueLevel(version, options, running_);
}

void CompactionSchedule::End(Job* job, const absl::Status& status) {
  if (!job->has_begun) Begin(job);
  std::erase(running_, job->plan);
  if (job->request != nullptr) {
    job->request->status = status;
    job->request->done = true;
  }
  if (!job->found_nothing) NoteChange();
}

void CompactionSchedule::Replace(Job* job, const std::shared_ptr<const CompactionPlan>& plan) {
  const auto running = std::find(running_.begin(), running_.end(), job->plan);
  if (plan->inputs.empty()) {
    running_.erase(running);
  } else {
    *running = plan;
  }
  job->plan = plan;
}

}  // namespace lsm
