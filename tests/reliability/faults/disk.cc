#include "tests/reliability/faults/disk.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "bloom/hash.h"
#include "lsm/bytes/status.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

// Garbage that no program wrote.  The same place always gets the same bytes.
void FillWithGarbage(std::string* bytes, uint64_t from, uint64_t to, uint64_t salt) {
  testing_support::SeededRandom random(salt ^ (from * 0x9e3779b97f4a7c15));
  uint64_t value = 0;
  for (uint64_t i = from; i < to; ++i) {
    if ((i - from) % 8 == 0) value = random.Next();
    (*bytes)[i] = static_cast<char>(value >> ((i - from) % 8 * 8));
  }
}

std::string ContentsAfter(const std::string& bytes, const Pending::Tail& pending,
                          const Loss::Tail& loss) {
  std::string contents = bytes.substr(0, loss.size_bytes);
  for (uint64_t i = 0; i < loss.fates.size(); ++i) {
    if (loss.fates[i] == SectorFate::kKept) continue;
    const uint64_t sector = (pending.first_sector() + i) * kSectorBytes;
    const uint64_t from = std::max(sector, pending.durable_bytes);
    const uint64_t to = std::min<uint64_t>(sector + kSectorBytes, contents.size());
    if (from >= to) break;
    // A partly durable sector keeps its old contents: the durable part, then zeros.
    if (loss.fates[i] == SectorFate::kZero || from > sector) {
      std::fill(contents.begin() + static_cast<int64_t>(from),
                contents.begin() + static_cast<int64_t>(to), '\0');
    } else {
      FillWithGarbage(&contents, from, to, pending.file);
    }
  }
  return contents;
}

}  // namespace

Image Image::Of(lsm::MemoryFileSystem& files, const std::vector<std::string>& directories) {
  Image image;
  for (const std::string& path : directories) {
    const auto directory = files.OpenDirectory(path, /*create=*/false);
    if (!directory.ok()) continue;
    image.directories.push_back(path);
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names) {
      const std::string file = path + "/" + name;
      image.files.emplace_back(file, files.FileBytes(file));
    }
  }
  return image;
}

uint64_t Image::Digest() const {
  uint64_t digest = 0;
  for (const auto& [path, bytes] : files)
    digest = bloom::DigestOf(bytes, bloom::DigestOf(path, digest));
  return digest;
}

std::unique_ptr<lsm::MemoryFileSystem> Image::ToFiles() const {
  auto made = std::make_unique<lsm::MemoryFileSystem>();
  for (const std::string& directory : directories)
    (void)made->OpenDirectory(directory, /*create=*/true);
  for (const auto& [path, bytes] : files) made->SetFileBytes(path, bytes);
  return made;
}

uint64_t Image::bytes() const {
  uint64_t sum = 0;
  for (const auto& file : files) sum += file.second.size();
  return sum;
}

std::pair<size_t, uint64_t> Image::PlaceOf(uint64_t byte) const {
  size_t file = 0;
  while (byte >= files[file].second.size()) byte -= files[file++].second.size();
  return {file, byte};
}

Disk::Disk(const Image& image) {
  for (const std::string& directory : image.directories) FolderOf(directory);
  for (const auto& [path, bytes] : image.files) {
    const size_t slash = path.rfind('/');
    Folder& folder = FolderOf(path.substr(0, slash));
    const std::string name = path.substr(slash + 1);
    folder.durable[name] = folder.now[name] = file_count();
    files_.push_back({bytes, bytes.size(), {}});
  }
}

Disk::Folder& Disk::FolderOf(const std::string& path) {
  const auto place = std::find_if(folders_.begin(), folders_.end(),
                                  [&](const Folder& folder) { return folder.path == path; });
  if (place != folders_.end()) return *place;
  return folders_.emplace_back(Folder{path, {}, {}, {}});
}

void Disk::Change(Names* names, const Pending::Change& change) {
  switch (change.kind) {
    case Event::kCreate:
      (*names)[change.name] = change.file;
      break;
    case Event::kRemove:
      names->erase(change.name);
      break;
    default:  // If the file's creation was lost, the rename creates it.
      names->erase(change.name);
      (*names)[change.to] = change.file;
  }
}

void Disk::Apply(const Event& event) {
  const uint64_t number = events_++;
  switch (event.kind) {
    case Event::kAppend: {
      File& file = files_[event.file];
      file.bytes += event.bytes;
      file.sizes.emplace_back(number, file.bytes.size());
      return;
    }
    case Event::kSyncFile: {
      File& file = files_[event.file];
      file.durable_bytes = file.bytes.size();
      file.sizes.clear();
      return;
    }
    default:
      break;
  }
  Folder& folder = FolderOf(event.directory);
  const auto index = static_cast<uint32_t>(&folder - folders_.data());
  switch (event.kind) {
    case Event::kCreate:
      assert(event.file == files_.size());
      files_.emplace_back();
      folder.changes.push_back({number, index, event.kind, event.name, {}, event.file});
      Change(&folder.now, folder.changes.back());
      break;
    case Event::kLink: {
      const uint32_t file = folder.now.at(event.name);
      const size_t slash = event.to.rfind('/');
      Folder& other = FolderOf(event.to.substr(0, slash));
      const auto other_index = static_cast<uint32_t>(&other - folders_.data());
      other.changes.push_back(
          {number, other_index, Event::kCreate, event.to.substr(slash + 1), {}, file});
      Change(&other.now, other.changes.back());
      break;
    }
    case Event::kRemove:
    case Event::kRename:
      folder.changes.push_back(
          {number, index, event.kind, event.name, event.to, folder.now.at(event.name)});
      Change(&folder.now, folder.changes.back());
      break;
    case Event::kSyncDirectory:
      folder.durable = folder.now;
      folder.changes.clear();
      break;
    case Event::kSyncName: {
      std::set<std::string> settled = {event.name};
      for (const Pending::Change& change : folder.changes) {
        if (change.kind == Event::kRename && change.to == event.name) settled.insert(change.name);
      }
      std::erase_if(folder.changes, [&](const Pending::Change& change) {
        return settled.contains(change.name) || settled.contains(change.to);
      });
      for (const std::string& name : settled) {
        const auto now = folder.now.find(name);
        folder.durable.erase(name);
        if (now != folder.now.end()) folder.durable.insert(*now);
      }
      break;
    }
    default:
      break;
  }
}

Pending Disk::pending() const {
  Pending pending;
  for (const Folder& folder : folders_)
    pending.changes.insert(pending.changes.end(), folder.changes.begin(), folder.changes.end());
  std::sort(pending.changes.begin(), pending.changes.end(),
            [](const auto& a, const auto& b) { return a.event < b.event; });
  // Skips the bytes of files that have no name and cannot get one back.
  std::set<uint32_t> named;
  for (const Folder& folder : folders_) {
    for (const Names* names : {&folder.durable, &folder.now}) {
      for (const auto& [name, file] : *names) named.insert(file);
    }
  }
  for (const Pending::Change& change : pending.changes) named.insert(change.file);
  for (const uint32_t number : named) {
    const File& file = files_[number];
    if (file.durable_bytes < file.bytes.size())
      pending.tails.push_back({number, file.durable_bytes, file.bytes.size(), file.sizes});
  }
  return pending;
}

Image Disk::After(const Pending& pending, const Loss& loss) const {
  std::vector<Names> names;
  for (const Folder& folder : folders_) names.push_back(folder.durable);
  for (size_t i = 0; i < pending.changes.size(); ++i) {
    if (loss.changes_kept[i]) Change(&names[pending.changes[i].folder], pending.changes[i]);
  }
  Image image;
  for (size_t i = 0; i < folders_.size(); ++i) {
    image.directories.push_back(folders_[i].path);
    for (const auto& [name, file] : names[i]) {
      const uint32_t number = file;  // in Clang, a lambda cannot capture a structured binding
      const auto tail = std::find_if(pending.tails.begin(), pending.tails.end(),
                                     [&](const auto& each) { return each.file == number; });
      const std::string& bytes = files_[number].bytes;
      image.files.emplace_back(
          lsm::Concat(folders_[i].path, "/", name),
          tail == pending.tails.end()
              ? bytes
              : ContentsAfter(bytes, *tail,
                              loss.tails[static_cast<size_t>(tail - pending.tails.begin())]));
    }
  }
  std::sort(image.files.begin(), image.files.end());
  return image;
}

Image Disk::Now() const {
  Image image;
  for (const Folder& folder : folders_) {
    image.directories.push_back(folder.path);
    for (const auto& [name, number] : folder.now)
      image.files.emplace_back(lsm::Concat(folder.path, "/", name), files_[number].bytes);
  }
  std::sort(image.files.begin(), image.files.end());
  return image;
}

namespace {

// The losses of one moment.
class Losses {
 public:
  Losses(const Pending& pending, const LossLimits& limits, uint64_t seed,
         const std::function<bool(const Loss&)>& visit)
      : pending_(pending), limits_(limits), random_(seed), visit_(visit) {
    atoms_ = pending.changes.size();
    for (const Pending::Tail& tail : pending.tails) atoms_ += tail.sectors();
  }

  void Run() {
    Visit(Everything());
    Visit(Nothing());
    Prefixes();
    if (atoms_ <= limits_.atoms_for_all_subsets) {
      AllSubsets();
    } else {
      SmallSubsets();
      Samples();
    }
    Cuts();
  }

 private:
  // The fate of a file's lost bytes.
  enum class Style : uint8_t { kMissing, kZero, kGarbage };
  static constexpr Style kStyles[] = {Style::kMissing, Style::kZero, Style::kGarbage};

  void Visit(const Loss& loss) {
    if (!stopped_ && !visit_(loss)) stopped_ = true;
  }
  bool IsChosen() { return limits_.one_in <= 1 || random_.Next() % limits_.one_in == 0; }

  Loss Everything() const {
    Loss loss;
    loss.changes_kept.assign(pending_.changes.size(), true);
    for (const Pending::Tail& tail : pending_.tails)
      loss.tails.push_back({tail.size_bytes, std::vector(tail.sectors(), SectorFate::kKept)});
    return loss;
  }

  Loss Nothing() const {
    Loss loss = Everything();
    loss.changes_kept.assign(pending_.changes.size(), false);
    for (size_t i = 0; i < loss.tails.size(); ++i)
      loss.tails[i].size_bytes = pending_.tails[i].durable_bytes;
    return loss;
  }

  // `kept(i)` tells whether atom i is kept.  Changes come first, then the sectors of each tail.
  template <typename Kept>
  Loss OfAtoms(const Kept& kept, Style style) const {
    Loss loss = Everything();
    size_t atom = 0;
    for (size_t i = 0; i < loss.changes_kept.size(); ++i) loss.changes_kept[i] = kept(atom++);
    for (size_t i = 0; i < loss.tails.size(); ++i) {
      const Pending::Tail& tail = pending_.tails[i];
      uint64_t kept_end = tail.durable_bytes;
      for (size_t s = 0; s < loss.tails[i].fates.size(); ++s) {
        if (kept(atom++)) {
          kept_end = std::min(tail.size_bytes, (tail.first_sector() + s + 1) * kSectorBytes);
        } else {
          // A hole before kept bytes reads as zeros.
          loss.tails[i].fates[s] =
              style == Style::kGarbage ? SectorFate::kGarbage : SectorFate::kZero;
        }
      }
      if (style == Style::kMissing) loss.tails[i].size_bytes = kept_end;
    }
    return loss;
  }

  void Prefixes() {
    std::vector<uint64_t> moments;
    for (const Pending::Change& change : pending_.changes) moments.push_back(change.event);
    for (const Pending::Tail& tail : pending_.tails) {
      for (const auto& [event, size] : tail.sizes) moments.push_back(event);
    }
    std::sort(moments.begin(), moments.end());
    for (const uint64_t moment : moments) {
      Loss loss = Everything();
      for (size_t i = 0; i < pending_.changes.size(); ++i)
        loss.changes_kept[i] = pending_.changes[i].event <= moment;
      for (size_t i = 0; i < pending_.tails.size(); ++i) {
        loss.tails[i].size_bytes = pending_.tails[i].durable_bytes;
        for (const auto& [event, size] : pending_.tails[i].sizes) {
          if (event <= moment) loss.tails[i].size_bytes = size;
        }
      }
      Visit(loss);
    }
  }

  void AllSubsets() {
    for (uint64_t mask = 0; mask < uint64_t{1} << atoms_ && !stopped_; ++mask) {
      for (const Style style : kStyles) {
        if (!IsChosen()) continue;
        Visit(OfAtoms([&](size_t atom) { return (mask >> atom & 1) != 0; }, style));
      }
    }
  }

  void SmallSubsets() {
    for (size_t a = 0; a < atoms_ && !stopped_; ++a) {
      const size_t end = atoms_ <= limits_.atoms_for_pairs ? atoms_ : a + 1;
      for (size_t b = a; b < end && !stopped_; ++b) {
        for (const Style style : kStyles) {
          if (IsChosen())
            Visit(OfAtoms([&](size_t atom) { return atom == a || atom == b; }, style));
          if (IsChosen())
            Visit(OfAtoms([&](size_t atom) { return atom != a && atom != b; }, style));
        }
      }
    }
  }

  void Samples() {
    for (size_t i = 0; i < limits_.samples && !stopped_; ++i) {
      if (!IsChosen()) continue;
      // Some subsets keep almost all atoms, others almost none.
      const uint64_t of_eight = 1 + random_.Next() % 7;
      Loss loss = OfAtoms([&](size_t) { return random_.Next() % 8 < of_eight; }, kStyles[i % 3]);
      for (size_t t = 0; t < loss.tails.size(); ++t) {
        const Pending::Tail& tail = pending_.tails[t];
        if (random_.Next() % 4 == 0) {
          loss.tails[t].size_bytes =
              tail.durable_bytes + random_.Next() % (tail.size_bytes - tail.durable_bytes + 1);
        }
        for (SectorFate& fate : loss.tails[t].fates) {
          if (fate != SectorFate::kKept && random_.Next() % 2 == 0)
            fate = fate == SectorFate::kZero ? SectorFate::kGarbage : SectorFate::kZero;
        }
      }
      Visit(loss);
    }
  }

  // Cuts the last append at any byte, with any subset of the changes.
  void Cuts() {
    size_t last = pending_.tails.size();
    uint64_t event = 0;
    for (size_t i = 0; i < pending_.tails.size(); ++i) {
      if (pending_.tails[i].sizes.back().first < event) continue;
      event = pending_.tails[i].sizes.back().first;
      last = i;
    }
    if (last == pending_.tails.size()) return;
    const Pending::Tail& tail = pending_.tails[last];
    const uint64_t from =
        tail.sizes.size() > 1 ? tail.sizes[tail.sizes.size() - 2].second : tail.durable_bytes;
    const uint64_t length = tail.size_bytes - from;
    const uint64_t step = length / limits_.cuts + 1;
    const size_t changes = std::min<size_t>(pending_.changes.size(), 5);
    for (uint64_t cut = 0; cut < length && !stopped_; cut += step) {
      for (uint64_t mask = 0; mask < uint64_t{1} << changes; ++mask) {
        if (!IsChosen()) continue;
        Loss loss = Everything();
        loss.tails[last].size_bytes = from + cut;
        // If there are more changes, only the newest vary.
        for (size_t i = 0; i < changes; ++i)
          loss.changes_kept[pending_.changes.size() - 1 - i] = (mask >> i & 1) != 0;
        Visit(loss);
      }
    }
  }

  const Pending& pending_;
  const LossLimits& limits_;
  testing_support::SeededRandom random_;
  const std::function<bool(const Loss&)>& visit_;
  size_t atoms_ = 0;
  bool stopped_ = false;
};

}  // namespace

void ForEachLoss(const Pending& pending, const LossLimits& limits, uint64_t seed,
                 const std::function<bool(const Loss&)>& visit) {
  Losses(pending, limits, seed, visit).Run();
}

}  // namespace reliability
