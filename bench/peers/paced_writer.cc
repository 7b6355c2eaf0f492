#include "bench/peers/paced_writer.h"

#include <chrono>
#include <string>

#include "lsm/bytes/status.h"

namespace bench::peers {

PacedWriter::PacedWriter(const Subject& subject, const Numbers& order, double puts_per_second)
    : subject_(subject), order_(order), puts_per_second_(puts_per_second) {
  thread_ = std::thread([this] { status_ = Write(); });
}

PacedWriter::~PacedWriter() { Stop().IgnoreError(); }

absl::Status PacedWriter::Stop() {
  // Relaxed: orders nothing; join makes the thread's work visible.
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  return status_;
}

absl::Status PacedWriter::Write() {
  using Clock = std::chrono::steady_clock;
  std::string value;
  const Clock::time_point begin = Clock::now();
  uint64_t done = 0, due = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    due = static_cast<uint64_t>(elapsed.count() * puts_per_second_);
    for (; done < due && !stopping_.load(std::memory_order_relaxed); ++done) {
      const uint64_t number = order_[done % order_.size()];
      subject_.contents->MakeNext(number, &value);
      TRELLIS_RETURN_IF_ERROR(subject_.peer->Put(DigitKey::Present(number), value));
      subject_.contents->Wrote(number);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (due >= kPutsToJudge && done < due / 2)
    return absl::ResourceExhaustedError(
        lsm::Concat(subject_.peer->name(), " took only ", done, " of ", due, " puts"));
  return absl::OkStatus();
}

}  // namespace bench::peers
