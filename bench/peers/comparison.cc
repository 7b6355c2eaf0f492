#include "bench/peers/comparison.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "bench/spread.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kGroup = 64;  // lookups between two readings of the clock

// Of all threads, in user space and in the kernel.
double CpuSeconds() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The first store's time by the best of the others', round by round: stores of one round ran one
// right after the other, so that what slows the machine for a while slows them all.
Spread RatioOf(const WorkloadTimes& times) {
  std::vector<double> ratios;
  for (size_t round = 0; round < times.micros[0].size(); ++round) {
    double best = times.micros[1][round];
    for (size_t peer = 2; peer < times.micros.size(); ++peer) {
      best = std::min(best, times.micros[peer][round]);
    }
    ratios.push_back(times.micros[0][round] / best);
  }
  return SpreadOf(std::move(ratios));
}

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

}  // namespace

Comparison::Comparison(const ComparisonConfig& config, std::vector<std::unique_ptr<Peer>> peers)
    : config_(config), peers_(std::move(peers)), values_(static_cast<size_t>(config.value_bytes)) {
  // Even numbers are there and odd ones are not, so that absent keys lie between present ones.
  for (const uint64_t i : Shuffled(config.keys, config.seed)) present_.Add(DecimalKey(2 * i));
  for (const uint64_t i : Shuffled(config.keys - 1, config.seed + 1)) {
    absent_.Add(DecimalKey(2 * i + 1));
  }
}

std::string Comparison::DirectoryOf(size_t peer) const {
  std::string name = peers_[peer]->name();
  name = name.substr(0, name.find(' '));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return config_.out + "/stores/" + name;
}

void Comparison::Record(const std::string& workload, size_t peer, double seconds,
                        uint64_t operations) {
  auto at = std::find_if(times_.begin(), times_.end(),
                         [&](const WorkloadTimes& times) { return times.name == workload; });
  if (at == times_.end()) {
    times_.push_back({workload, std::vector<std::vector<double>>(peers_.size())});
    at = times_.end() - 1;
  }
  at->micros[peer].push_back(seconds * 1e6 / static_cast<double>(operations));
}

absl::Status Comparison::Run() {
  const double stores = static_cast<double>(peers_.size());
  const double fill_guess = 6e-6 * static_cast<double>(config_.keys);
  progress_ = std::make_unique<Progress>(
      stores * (fill_guess * (config_.rounds + 1) + 2 * config_.seconds * config_.rounds));
  std::error_code error;
  std::filesystem::create_directories(config_.out + "/stores", error);
  if (error) {
    return absl::UnavailableError(lsm::Concat("--out: ", config_.out, ": ", error.message()));
  }
  conditions_ = DescribeMachine(config_.out);
  for (int round = 0; round < config_.rounds; ++round) {
    for (size_t i = 0; i < peers_.size(); ++i) {
      progress_->Announce(lsm::Concat("fillrandom, round ", round + 1, " of ", config_.rounds, ", ",
                                      peers_[At(round, i)]->name()));
      LSM_RETURN_IF_ERROR(Fill(At(round, i)));
      progress_->Advance(fill_guess);
    }
  }
  MeasureFillLoop();
  for (size_t i = 0; i < peers_.size(); ++i) {
    progress_->Announce("compact, " + peers_[i]->name());
    LSM_RETURN_IF_ERROR(CompactAndWarm(i));
    progress_->Advance(fill_guess);
  }
  for (const Workload workload : {Workload::kAbsent, Workload::kPresent}) {
    QueryStream stream(workload, present_, absent_, 0, present_.size(), config_.seed + 2);
    const std::string name = std::string("get ") + NameOf(workload);
    for (int round = 0; round < config_.rounds; ++round) {
      progress_->Announce(lsm::Concat(name, ", round ", round + 1, " of ", config_.rounds));
      for (size_t i = 0; i < peers_.size(); ++i) {
        LSM_RETURN_IF_ERROR(Lookups(round, At(round, i), &stream, name));
        progress_->Advance(config_.seconds);
      }
    }
    MeasureLookupLoop(&stream, name);
  }
  for (const std::unique_ptr<Peer>& peer : peers_) LSM_RETURN_IF_ERROR(peer->Close());
  progress_->Announce("done");
  progress_.reset();
  return absl::OkStatus();
}

absl::Status Comparison::Fill(size_t at) {
  Peer* peer = peers_[at].get();
  LSM_RETURN_IF_ERROR(peer->Close());
  LSM_RETURN_IF_ERROR(peer->Open(DirectoryOf(at), config_.settings));
  std::string value;
  const double cpu_begin = CpuSeconds();
  const SteadyClock::time_point begin = SteadyClock::now();
  for (size_t i = 0; i < present_.size(); ++i) {
    values_.Make(present_[i], &value);
    LSM_RETURN_IF_ERROR(peer->Put(present_[i], value));
  }
  Record("fillrandom", at, SecondsSince(begin), present_.size());
  Record("fillrandom, CPU", at, CpuSeconds() - cpu_begin, present_.size());
  // What is left to do is not to run beside the next store's puts.
  LSM_RETURN_IF_ERROR(peer->WaitUntilQuiet());
  Record("fill until quiet", at, SecondsSince(begin), present_.size());
  Record("fill until quiet, CPU", at, CpuSeconds() - cpu_begin, present_.size());
  return absl::OkStatus();
}

absl::Status Comparison::CompactAndWarm(size_t at) {
  LSM_RETURN_IF_ERROR(peers_[at]->CompactAll());
  LSM_RETURN_IF_ERROR(peers_[at]->WaitUntilQuiet());
  uint64_t entries = 0;
  LSM_RETURN_IF_ERROR(peers_[at]->Scan(&entries));
  if (entries != present_.size()) {
    return absl::InternalError(lsm::Concat("WRONG: ", peers_[at]->name(), " holds ", entries,
                                           " keys of ", present_.size()));
  }
  // Every key once: all answers are checked, and every block is in the cache.
  for (const bool is_present : {true, false}) {
    const KeyList& keys = is_present ? present_ : absent_;
    for (size_t i = 0; i < keys.size(); ++i) {
      LSM_RETURN_IF_ERROR(CheckedGet(peers_[at].get(), {keys[i], is_present}));
    }
  }
  return absl::OkStatus();
}

absl::Status Comparison::CheckedGet(Peer* peer, const QueryStream::Query& query) const {
  std::string_view value;
  const Peer::Answer answer = peer->Get(query.key, &value);
  if (answer == Peer::Answer::kError) [[unlikely]]
    return peer->error();
  if ((answer == Peer::Answer::kFound) == query.present &&
      (!query.present || values_.Matches(query.key, value))) {
    return absl::OkStatus();
  }
  return absl::InternalError(lsm::Concat("WRONG ANSWER of ", peer->name(), " for the key \"",
                                         lsm::Escape(query.key), "\""));
}

absl::Status Comparison::Lookups(int round, size_t at, QueryStream* stream,
                                 const std::string& workload) {
  Peer* peer = peers_[at].get();
  // In one round all begin at the same key, in the next one at another.
  stream->Restart(config_.seed + static_cast<uint64_t>(round));
  // The caches of the processor still hold what the store before this one needed.
  for (int i = 0; i < 20000; ++i) LSM_RETURN_IF_ERROR(CheckedGet(peer, stream->Next()));
  uint64_t lookups = 0;
  const double cpu_begin = CpuSeconds();
  const SteadyClock::time_point begin = SteadyClock::now();
  double seconds = 0;
  do {
    for (uint64_t i = 0; i < kGroup; ++i) {
      LSM_RETURN_IF_ERROR(CheckedGet(peer, stream->Next()));
    }
    lookups += kGroup;
    seconds = SecondsSince(begin);
  } while (seconds < config_.seconds);
  Record(workload, at, seconds, lookups);
  Record(workload + ", CPU", at, CpuSeconds() - cpu_begin, lookups);
  return peer->WaitUntilQuiet();
}

void Comparison::MeasureFillLoop() {
  std::string value;
  const SteadyClock::time_point begin = SteadyClock::now();
  for (size_t i = 0; i < present_.size(); ++i) {
    values_.Make(present_[i], &value);
    // The compiler must not leave it out.
    asm volatile("" : : "r"(value.data()) : "memory");
  }
  loop_micros_.emplace_back("fillrandom",
                            SecondsSince(begin) * 1e6 / static_cast<double>(present_.size()));
}

void Comparison::MeasureLookupLoop(QueryStream* stream, const std::string& workload) {
  // Answers at once, with the right values, in the order in which they were given to it.
  class Nothing : public Peer {
   public:
    explicit Nothing(std::vector<std::string> values) : values_(std::move(values)) {}
    std::string name() const override { return "nothing"; }
    std::string details() const override { return ""; }
    absl::Status Open(const std::string&, const PeerSettings&) override { return {}; }
    absl::Status Close() override { return {}; }
    absl::Status Put(std::string_view, std::string_view) override { return {}; }
    absl::Status WaitUntilQuiet() override { return {}; }
    absl::Status CompactAll() override { return {}; }
    absl::Status Scan(uint64_t*) override { return {}; }
    Answer Get(std::string_view, std::string_view* value) override {
      if (values_.empty()) return Answer::kAbsent;
      *value = values_[at_];
      at_ = at_ + 1 == values_.size() ? 0 : at_ + 1;
      return Answer::kFound;
    }

   private:
    const std::vector<std::string> values_;
    size_t at_ = 0;
  };
  // As many as the processor keeps at hand, as it does the value that a store has just handed out.
  const uint64_t count = std::clamp<uint64_t>((64 << 10) / (config_.value_bytes + 1), 1, 512);
  const uint64_t wanted =
      std::clamp<uint64_t>((uint64_t{1} << 28) / (config_.value_bytes + 1), 1000, 1000000);
  std::vector<std::string> values;
  stream->Restart(config_.seed);
  for (uint64_t i = 0; i < count && stream->workload() == Workload::kPresent; ++i) {
    values_.Make(stream->Next().key, &values.emplace_back());
  }
  Nothing nothing(std::move(values));
  double seconds = 0;
  uint64_t lookups = 0;
  for (; lookups < wanted; lookups += count) {
    stream->Restart(config_.seed);
    const SteadyClock::time_point begin = SteadyClock::now();
    for (uint64_t i = 0; i < count; ++i) {
      if (!CheckedGet(&nothing, stream->Next()).ok()) return;
    }
    seconds += SecondsSince(begin);
  }
  loop_micros_.emplace_back(workload, seconds * 1e6 / static_cast<double>(lookups));
}

Table Comparison::ToTable() const {
  Table table{"peers", "Microseconds an operation, medians of the rounds", {}, {}};
  table.columns.push_back({"us an operation", "", false});
  for (const std::unique_ptr<Peer>& peer : peers_) {
    table.columns.push_back({peer->name(), "", true});
    table.columns.push_back({"+-%", peer->name() + ", half the range of the rounds, %", true});
  }
  table.columns.push_back(
      {"ratio", "first store / best of the others, median of the rounds", true});
  for (const WorkloadTimes& times : times_) {
    std::vector<std::string> row = {times.name};
    for (const std::vector<double>& micros : times.micros) {
      const Spread spread = SpreadOf(micros);
      row.push_back(Digits3(spread.median));
      row.push_back(Digits3(spread.percent()));
    }
    row.push_back(peers_.size() < 2 ? "-" : Digits3(RatioOf(times).median));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string Comparison::ToText() const {
  std::string out = "\npeers_bench: the same work, store by store\n\n";
  out += lsm::Concat(Grouped(config_.keys), " keys of 16 bytes, values of ", config_.value_bytes,
                     " bytes (half compressible), one thread, log not synced\n");
  out +=
      lsm::Concat("write buffer ", Bytes(config_.settings.write_buffer_bytes), ", block cache ",
                  Bytes(config_.settings.block_cache_bytes), " (holds everything), blocks of ",
                  Bytes(config_.settings.block_bytes), "; filters: ", config_.settings.bits_per_key,
                  " bits a key, Trellis target FPP ", Digits3(config_.settings.target_fpp), "\n");
  out +=
      "fillrandom: each key once, until the last put returned; fill until quiet: until its work "
      "in\n"
      "the background was done, too, for which the next store waited; gets: after a full "
      "compaction\n"
      "CPU: time of all threads, which a busy machine stretches less\n\n";
  out += bench::ToText(ToTable()) + "\n";
  for (const auto& [workload, micros] : loop_micros_) {
    out += lsm::Concat("Of each figure of ", workload, " ", Digits3(micros),
                       " us are the loop itself\n");
  }
  for (const std::unique_ptr<Peer>& peer : peers_) {
    out += "  " + peer->name() + ": " + peer->details() + "\n";
  }
  out += "\n";
  for (const auto& [name, value] : conditions_) out += "  " + name + ": " + value + "\n";
  return out;
}

nlohmann::ordered_json Comparison::ToJson() const {
  nlohmann::ordered_json json = {{"benchmark", "peers_bench"},
                                 {"schema", 1},
                                 {"conditions", nlohmann::ordered_json::object()},
                                 {"keys", config_.keys},
                                 {"value_bytes", config_.value_bytes},
                                 {"rounds", config_.rounds},
                                 {"seed", config_.seed},
                                 {"write_buffer_bytes", config_.settings.write_buffer_bytes},
                                 {"block_cache_bytes", config_.settings.block_cache_bytes},
                                 {"bits_per_key", config_.settings.bits_per_key},
                                 {"target_fpp", config_.settings.target_fpp}};
  for (const auto& [name, value] : conditions_) json["conditions"][name] = value;
  for (const auto& [workload, micros] : loop_micros_) json["loop_us"][workload] = micros;
  for (const WorkloadTimes& times : times_) {
    nlohmann::ordered_json& row = json["us_per_operation"][times.name];
    for (size_t i = 0; i < peers_.size(); ++i) {
      const Spread spread = SpreadOf(times.micros[i]);
      row[peers_[i]->name()] = {
          {"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
    }
    if (peers_.size() > 1) row["ratio"] = RatioOf(times).median;
  }
  return json;
}

}  // namespace bench
