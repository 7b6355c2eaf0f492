#include "lsm/pieces/piece_store.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/environment.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A piece is hot if it was hit while the last that many segments were made.
constexpr uint64_t kHotTurns = 64;
constexpr size_t kVictimsToCompare = 8;
// Pieces that are not kept after a failed write.  A full disk would fail each of them.
constexpr uint64_t kPiecesToSkip = 1000;

// Makes a call that may be left out, or end early, if memory runs out.
template <typename Call>
void WithMemory(const Call& call) {
  CatchOutOfMemory([&] {
    call();
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

PieceStore::PieceStore(const CachedFileSystem::Config& config)
    : bytes_max_(config.bytes_max), segment_size_(config.bytes_max) {
  opened_ = CatchOutOfMemory([&] { return Open(config); });
  if (!opened_.ok()) lock_ = nullptr;
}

PieceStore::~PieceStore() = default;

absl::Status PieceStore::Open(const CachedFileSystem::Config& config) {
  if (config.bytes_max < CachedFileSystem::kBytesMin) {
    return absl::InvalidArgumentError(
        Concat("CachedFileSystem::Config::bytes_max: ", config.bytes_max,
               " bytes are too few; at least ", CachedFileSystem::kBytesMin));
  }
  FileSystem& local = config.local != nullptr ? *config.local : PosixFileSystem();
  TRELLIS_ASSIGN_OR_RETURN(directory_, local.OpenDirectory(config.directory, /*create=*/true));
  TRELLIS_ASSIGN_OR_RETURN(lock_, directory_->Lock(kLockFileName, LockKind::kExclusive));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory_->List());
  MutexLock lock(&adding_);
  Load(names);
  return absl::OkStatus();
}

void PieceStore::Load(const std::vector<std::string>& names) {
  std::map<uint64_t, std::vector<std::string>> files;
  for (const std::string& name : names) {
    if (const std::optional<uint64_t> number = Segment::NumberOf(name))
      files[*number].push_back(name);
  }
  for (const auto& [number, names_of_segment] : files) {
    next_number_ = number + 1;
    std::vector<PieceEntry> entries;
    const absl::StatusOr<std::shared_ptr<Segment>> segment =
        Segment::Load(*directory_, number, bytes_max_, &entries);
    if (!segment.ok()) {
      // One of the files may be missing: the process was killed while it made or removed them.
      if (!absl::IsNotFound(segment.status())) Succeeded(segment.status());
      for (const std::string& name : names_of_segment) Succeeded(directory_->Remove(name));
      continue;
    }
    segments_[number] = *segment;
    MutexLock lock(&mutex_);
    for (const PieceEntry& entry : entries) {
      if (entry.length == 0) {
        Erase(entry.table.path_hash);
      } else {
        SetTable(entry.table);
        Insert({*segment, entry});
      }
    }
  }
  EvictSegments();
}

absl::Status PieceStore::status() const {
  return lock_ == nullptr ? opened_ : lock_->CheckHolder();
}

bool PieceStore::Succeeded(const absl::Status& status) {
  if (!status.ok()) Count(&counts.errors);
  return status.ok();
}

KnownTable PieceStore::Begin(const TableIdentity& identity) {
  MutexLock lock(&mutex_);
  return SetTable(identity);
}

const KnownTable& PieceStore::SetTable(const TableIdentity& identity) {
  Table& table = tables_[identity.path_hash];
  if (table.known.generation == 0 || table.known.identity != identity) {
    table.places.clear();
    table.known = {identity, ++last_generation_};
  }
  return table.known;
}

bool PieceStore::Has(const KnownTable& table) {
  const auto found = tables_.find(table.identity.path_hash);
  return found != tables_.end() && found->second.known.generation == table.generation;
}

bool PieceStore::Erase(uint64_t path_hash) {
  const auto found = tables_.find(path_hash);
  if (found == tables_.end()) return false;
  const bool had_pieces = !found->second.places.empty();
  tables_.erase(found);
  return had_pieces;
}

void PieceStore::Forget(uint64_t path_hash) {
  WithMemory([&] {
    MutexLock lock(&adding_);
    ForgetLocked(path_hash);
  });
}

void PieceStore::ForgetLocked(uint64_t path_hash) {
  {
    MutexLock lock(&mutex_);
    if (!Erase(path_hash)) return;
  }
  if (!MakeRoom(0)) return;
  PieceEntry entry;
  entry.table.path_hash = path_hash;
  if (!Succeeded(active_->AppendEntry(entry))) GiveUpActive();
}

std::optional<StoredPiece> PieceStore::Find(const KnownTable& table, uint32_t number,
                                            bool makes_hot) {
  MutexLock lock(&mutex_);
  if (!Has(table)) return std::nullopt;
  Place* const place = FindPlace(table.identity.path_hash, number);
  if (place == nullptr) return std::nullopt;
  if (makes_hot) place->used_turn = turn_;
  return place->piece;
}

void PieceStore::DropBad(const StoredPiece& piece, const absl::Status& read) {
  if (Succeeded(read)) Count(&counts.bad_pieces);
  MutexLock lock(&mutex_);
  EraseIfStill(piece);  // another thread may have stored it again
}

PieceStore::Place* PieceStore::FindPlace(uint64_t path_hash, uint32_t number) {
  const auto table = tables_.find(path_hash);
  if (table == tables_.end()) return nullptr;
  const auto place = table->second.places.find(number);
  return place == table->second.places.end() ? nullptr : &place->second;
}

bool PieceStore::EraseIfStill(const StoredPiece& piece) {
  const Place* const place = FindPlace(piece.entry.table.path_hash, piece.entry.number);
  if (place == nullptr || place->piece.segment != piece.segment ||
      place->piece.entry.offset != piece.entry.offset)
    return false;
  tables_.at(piece.entry.table.path_hash).places.erase(piece.entry.number);
  return true;
}

void PieceStore::Insert(const StoredPiece& piece) {
  const auto table = tables_.find(piece.entry.table.path_hash);
  if (table == tables_.end() || table->second.known.identity != piece.entry.table) return;
  piece.segment->held.push_back(
      {piece.entry.table.path_hash, piece.entry.offset, piece.entry.number});
  table->second.places[piece.entry.number].piece = piece;
}

void PieceStore::Add(const KnownTable& table, uint32_t number, std::string_view bytes) {
  WithMemory([&] {
    MutexLock lock(&adding_);
    {
      MutexLock tables_lock(&mutex_);
      if (!Has(table)) return;
    }
    PieceEntry entry;
    entry.table = table.identity;
    entry.number = number;
    if (const std::optional<StoredPiece> piece = Append(entry, bytes)) Publish(*piece);
  });
}

std::optional<StoredPiece> PieceStore::AddUnfinished(uint64_t path_hash, uint32_t number,
                                                     std::string_view bytes) {
  std::optional<StoredPiece> piece;
  WithMemory([&] {
    MutexLock lock(&adding_);
    PieceEntry entry;
    entry.table.path_hash = path_hash;
    entry.number = number;
    piece = Append(entry, bytes);
  });
  return piece;
}

void PieceStore::Commit(const TableIdentity& table, std::vector<StoredPiece> pieces) {
  WithMemory([&] {
    MutexLock lock(&adding_);
    ForgetLocked(table.path_hash);
    Begin(table);
    for (StoredPiece& piece : pieces) {
      piece.entry.table = table;
      if (!piece.segment->is_removed()) Publish(piece);
    }
  });
}

std::optional<StoredPiece> PieceStore::Append(PieceEntry entry, std::string_view bytes) {
  if (pieces_to_skip_ > 0) {
    --pieces_to_skip_;
    return std::nullopt;
  }
  if (!MakeRoom(bytes.size())) return std::nullopt;
  if (Succeeded(active_->AppendPiece(bytes, &entry))) return StoredPiece{active_, entry};
  GiveUpActive();
  return std::nullopt;
}

void PieceStore::Publish(const StoredPiece& piece) {
  if (!Succeeded(piece.segment->AppendEntry(piece.entry))) {
    if (piece.segment == active_) GiveUpActive();
    return;
  }
  Count(&counts.added);
  MutexLock lock(&mutex_);
  Insert(piece);
}

void PieceStore::GiveUpActive() {
  active_ = nullptr;
  pieces_to_skip_ = kPiecesToSkip;
}

bool PieceStore::MakeRoom(uint64_t bytes) {
  if (active_ != nullptr) {
    if (active_->HasRoomFor(segment_size_, bytes)) return true;
    active_->Seal();
    active_ = nullptr;
  }
  if (BytesOfInactive() + segment_size_.total_bytes() > bytes_max_) EvictSegments();
  if (BytesOfInactive() + segment_size_.total_bytes() > bytes_max_) return false;
  absl::StatusOr<std::shared_ptr<Segment>> made = Segment::Create(*directory_, next_number_++);
  if (!Succeeded(made.status())) {
    pieces_to_skip_ = kPiecesToSkip;
    return false;
  }
  segments_[(*made)->number()] = *made;  // first, so that its bytes count even if memory runs out
  active_ = *std::move(made);
  {
    MutexLock lock(&mutex_);
    ++turn_;
  }
  EvictSegments();
  return active_ != nullptr && active_->HasRoomFor(segment_size_, bytes);
}

uint64_t PieceStore::BytesOfInactive() const {
  uint64_t bytes = 0;
  for (const auto& [number, segment] : segments_)
    if (segment != active_) bytes += segment->bytes();
  return bytes;
}

void PieceStore::EvictSegments() {
  while (BytesOfInactive() + 2 * segment_size_.total_bytes() > bytes_max_) {
    const std::shared_ptr<Segment> victim = ChooseVictim();
    if (victim == nullptr) return;
    const Residents residents = ResidentsOf(*victim);
    if (active_ != nullptr)
      for (const StoredPiece& piece : residents.hot) Move(piece);
    {
      MutexLock lock(&mutex_);
      for (const StoredPiece& piece : residents.all) {
        if (EraseIfStill(piece)) Count(&counts.evicted);
      }
    }
    if (!Succeeded(victim->Remove(*directory_))) return;  // it still counts
    segments_.erase(victim->number());
  }
}

std::shared_ptr<Segment> PieceStore::ChooseVictim() {
  const size_t candidates = std::clamp<size_t>(segments_.size() / 2, 1, kVictimsToCompare);
  std::shared_ptr<Segment> victim;
  std::pair<size_t, size_t> least;
  size_t compared = 0;
  for (const auto& [number, segment] : segments_) {
    if (segment == active_ || segment->is_removed()) continue;
    const Residents residents = ResidentsOf(*segment);
    const std::pair<size_t, size_t> count(residents.hot.size(), residents.all.size());
    if (victim == nullptr || count < least) {
      victim = segment;
      least = count;
    }
    if (++compared == candidates) break;
  }
  return victim;
}

PieceStore::Residents PieceStore::ResidentsOf(const Segment& segment) {
  Residents residents;
  MutexLock lock(&mutex_);
  for (const Segment::Held& held : segment.held) {
    const Place* const place = FindPlace(held.path_hash, held.number);
    if (place == nullptr || place->piece.segment.get() != &segment ||
        place->piece.entry.offset != held.offset)
      continue;
    residents.all.push_back(place->piece);
    if (place->used_turn != 0 && turn_ - place->used_turn < kHotTurns)
      residents.hot.push_back(place->piece);
  }
  return residents;
}

void PieceStore::Move(const StoredPiece& piece) {
  // At most half of the segment: the other half is for new pieces.
  if (active_ == nullptr || active_->bytes() > segment_size_.total_bytes() / 2 ||
      !active_->HasRoomFor(segment_size_, piece.entry.length))
    return;
  std::string bytes(piece.entry.length, '\0');
  const absl::StatusOr<size_t> read =
      piece.segment->pieces().ReadAt(piece.entry.offset, {bytes.data(), bytes.size()});
  if (!Succeeded(read.status()) || *read != bytes.size() || !piece.entry.Verify(0, bytes)) return;
  PieceEntry entry = piece.entry;
  if (!Succeeded(active_->AppendPiece(bytes, &entry))) return GiveUpActive();
  if (!Succeeded(active_->AppendEntry(entry))) return GiveUpActive();
  MutexLock lock(&mutex_);
  Insert({active_, entry});
}

CachedFileSystem::Statistics PieceStore::statistics() const {
  const auto get = [](const std::atomic<uint64_t>& count) {
    return count.load(std::memory_order_relaxed);  // only a count
  };
  CachedFileSystem::Statistics sum;
  sum.hits = get(counts.hits);
  sum.misses = get(counts.misses);
  sum.bad_pieces = get(counts.bad_pieces);
  sum.bytes_hit = get(counts.bytes_hit);
  sum.bytes_below = get(counts.bytes_below);
  sum.added = get(counts.added);
  sum.evicted = get(counts.evicted);
  sum.errors = get(counts.errors);
  if (!is_usable()) return sum;
  MutexLock lock(&adding_);
  for (const auto& [number, segment] : segments_) sum.bytes += segment->bytes();
  MutexLock tables_lock(&mutex_);
  for (const auto& [path_hash, table] : tables_) sum.pieces += table.places.size();
  return sum;
}

}  // namespace lsm
