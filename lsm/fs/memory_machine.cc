#include "lsm/fs/memory_machine.h"

#include <algorithm>
#include <unordered_map>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using FilePointer = std::shared_ptr<MemoryFile>;

// Copies files, each one once, however many names it has.
template <typename CopyFile>
class Copier {
 public:
  explicit Copier(CopyFile copy_file) : copy_file_(copy_file) {}

  MemoryNames CopyOf(const MemoryNames& names) {
    MemoryNames copies;
    for (const auto& [name, file] : names) {
      FilePointer& copy = copies_[file.get()];
      if (copy == nullptr) copy = copy_file_(*file);
      copies.emplace_hint(copies.end(), name, copy);
    }
    return copies;
  }

 private:
  CopyFile copy_file_;
  std::unordered_map<const MemoryFile*, FilePointer> copies_;
};

// A sealed copy of the first `size_bytes` of a file, without handles.
FilePointer SealedPrefix(const MemoryFile& file, uint64_t size_bytes) {
  auto copy = std::make_shared<MemoryFile>();
  if (file.sealed != nullptr && size_bytes == file.sealed->size()) {
    copy->sealed = file.sealed;
  } else {
    copy->sealed = std::make_shared<const std::string>(file.bytes(), 0, size_bytes);
  }
  copy->durable_bytes = std::min(file.durable_bytes, size_bytes);
  copy->taken_bytes = std::min(file.taken_bytes, size_bytes);
  return copy;
}

void CountNames(const MemoryNames& names) {
  for (const auto& [name, file] : names) ++file->names;
}

}  // namespace

absl::Status MemoryMachine::Begin(uint64_t handle_epoch, FileOperation operation,
                                  const std::string& path, bool* interrupted) {
  if (handle_epoch != epoch) {
    return absl::UnavailableError(
        Concat(path, ": ", NameOf(operation), ": opened before the machine crashed"));
  }
  const auto crash = [&] {
    return absl::UnavailableError(Concat(path, ": ", NameOf(operation), ": crashed"));
  };
  const uint64_t number = operation_count++;
  if (crashed) return crash();
  if (number >= crash_at) {
    crashed = true;
    if (interrupted != nullptr) *interrupted = true;
    return crash();
  }
  if (fault == nullptr) return absl::OkStatus();

  const std::shared_ptr<const MemoryFileSystem::Fault> asked = fault;
  mutex.Unlock();
  absl::Status status = (*asked)(operation, path, number);
  mutex.Lock();
  if (crashed || handle_epoch != epoch) return crash();  // changed by another thread meanwhile
  if (!status.ok() && interrupted != nullptr) *interrupted = true;
  return status;
}

uint64_t MemoryMachine::TakeSpace(uint64_t wanted, MemoryFile* file) {
  const uint64_t taken = std::min(wanted, free_bytes);
  if (free_bytes != kNever) free_bytes -= taken;
  file->taken_bytes += taken;
  return taken;
}

void MemoryMachine::FreeSpace(uint64_t bytes) {
  if (free_bytes != kNever) free_bytes += bytes;
}

void MemoryMachine::DropName(MemoryFile* file) {
  if (--file->names == 0) FreeSpace(std::exchange(file->taken_bytes, 0));
}

uint64_t MemoryMachine::TakenBytes() const {
  std::set<const MemoryFile*> files;
  uint64_t bytes = 0;
  for (const auto& [path, node] : directories) {
    for (const auto& [name, file] : node->current) {
      if (files.insert(file.get()).second) bytes += file->taken_bytes;
    }
  }
  return bytes;
}

void MemoryDirectoryNode::DropUnsynced() {
  for (const MemoryNames* names : {&current, &durable}) {
    for (const auto& [name, file] : *names) {
      const auto now = current.find(name), kept = durable.find(name);
      if (now == current.end() || kept == durable.end() || now->second != kept->second)
        dropped.insert(name);
    }
  }
}

void MemoryDirectoryNode::Sync() {
  MemoryNames synced = current;
  for (const std::string& name : dropped) {
    synced.erase(name);
    if (const auto kept = durable.find(name); kept != durable.end()) synced.insert(*kept);
  }
  durable = std::move(synced);
}

std::shared_ptr<MemoryFile> MemoryMachine::FindFile(std::string_view path) const {
  const auto directory = directories.find(ParentPath(path));
  if (directory == directories.end()) return nullptr;
  const auto file = directory->second->current.find(LastName(path));
  return file == directory->second->current.end() ? nullptr : file->second;
}

bool MemoryMachine::HasFileOnTheWay(std::string_view path) const {
  for (; !path.empty(); path = ParentPath(path)) {
    if (FindFile(path) != nullptr) return true;
  }
  return false;
}

std::shared_ptr<MemoryDirectoryNode> MemoryMachine::MakeDirectory(const std::string& path) {
  std::shared_ptr<MemoryDirectoryNode>& node = directories[path];
  if (node != nullptr) return node;
  node = std::make_shared<MemoryDirectoryNode>();
  const std::shared_ptr<MemoryDirectoryNode> made = node;
  const std::string_view parent = ParentPath(path);
  if (!parent.empty()) MakeDirectory(std::string(parent));
  return made;
}

void MemoryMachine::Restart(MemoryFileSystem::Unsynced unsynced) {
  const bool keep = unsynced == MemoryFileSystem::Unsynced::kKept;
  MutexLock lock(&mutex);
  ++epoch;
  crash_at = kNever;
  crashed = false;
  fault = nullptr;
  const uint64_t taken_before = TakenBytes();
  // Makes new nodes for everything.  Earlier handles keep the old ones, and can change nothing.
  Copier copier([keep](const MemoryFile& file) {
    FilePointer copy = SealedPrefix(file, keep ? file.bytes().size() : file.durable_bytes);
    copy->durable_bytes = copy->taken_bytes = copy->sealed->size();
    return copy;
  });
  for (auto& [path, node] : directories) {
    auto restarted = std::make_shared<MemoryDirectoryNode>();
    restarted->current = copier.CopyOf(keep ? node->current : node->durable);
    restarted->durable = restarted->current;
    CountNames(restarted->current);
    node = std::move(restarted);
  }
  // Lost bytes are free again, and restored ones are taken.
  const uint64_t taken_after = TakenBytes();
  FreeSpace(taken_before - std::min(taken_before, taken_after));
  if (free_bytes != kNever)
    free_bytes -= std::min(free_bytes, taken_after - std::min(taken_before, taken_after));
}

std::shared_ptr<MemoryMachine> MemoryMachine::Clone() const {
  auto clone = std::make_shared<MemoryMachine>();
  Copier copier([](const MemoryFile& file) { return SealedPrefix(file, file.bytes().size()); });
  MutexLock lock(&mutex);
  MutexLock clone_lock(&clone->mutex);
  clone->free_bytes = free_bytes;
  for (const auto& [path, node] : directories) {
    auto copy = std::make_shared<MemoryDirectoryNode>();
    copy->current = copier.CopyOf(node->current);
    copy->durable = copier.CopyOf(node->durable);
    copy->dropped = node->dropped;
    CountNames(copy->current);
    clone->directories.emplace_hint(clone->directories.end(), path, std::move(copy));
  }
  return clone;
}

std::string NormalizedPath(std::string_view path) {
  std::string normalized;
  for (const char c : path) {
    if (c != '/' || normalized.empty() || normalized.back() != '/') normalized.push_back(c);
  }
  if (normalized.size() > 1 && normalized.back() == '/') normalized.pop_back();
  return normalized;
}

std::string_view ParentPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace lsm
