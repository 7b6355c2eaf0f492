// CollectGarbage.  lsm/design/object_store.md says why it removes nothing that a store needs.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/object_file_system.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/object_writes.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The ID in a chunk's name; empty if the object is something else.
std::string IdIn(std::string_view object) {
  if (object.size() < kIdDigits + 2 || object[kIdDigits] != '.') return "";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view id = object.substr(0, kIdDigits), number = object.substr(kIdDigits + 1);
  const bool is_chunk = std::all_of(number.begin(), number.end(), is_digit) &&
                        std::all_of(id.begin(), id.end(),
                                    [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  return is_chunk ? std::string(id) : "";
}

struct Indexes {
  std::set<std::string> ids;     // that an entry names
  std::set<std::string> owners;  // encoded
};

absl::Status AddIndex(ObjectPool& pool, const std::string& index, Indexes* indexes) {
  ObjectRead read;
  read.with_attributes = true;
  read.entries_after = "";
  for (;;) {
    const absl::StatusOr<ObjectContents> page = pool.Read(index, read);
    if (absl::IsNotFound(page.status())) return absl::OkStatus();  // removed meanwhile
    if (!page.ok()) return page.status();
    const auto owner = page->attributes.find(kOwnerAttribute);
    if (owner != page->attributes.end()) indexes->owners.insert(owner->second);
    for (const auto& [entry, value] : page->entries) {
      if (entry.starts_with(kDirectoryPrefix) || entry.starts_with(kPinPrefix)) continue;
      // The chunks of a damaged entry are unknown, so nothing may be removed.
      GoneFile named;
      if (entry.starts_with(kGonePrefix)) {
        TRELLIS_ASSIGN_OR_RETURN(named, GoneFile::Decode(value, index));
      } else {
        TRELLIS_ASSIGN_OR_RETURN(named.file, IndexedFile::Decode(value, index));
      }
      indexes->ids.insert(named.file.id);
    }
    if (!page->has_more_entries || page->entries.empty()) return absl::OkStatus();
    read.entries_after = page->entries.rbegin()->first;
  }
}

absl::StatusOr<Indexes> ReadIndexes(ObjectPool& pool) {
  std::vector<std::string> names;
  TRELLIS_RETURN_IF_ERROR(pool.List([&](const std::string& object) {
    if (object.starts_with(kIndexPrefix)) names.push_back(object);
  }));
  Indexes indexes;
  for (const std::string& name : names) TRELLIS_RETURN_IF_ERROR(AddIndex(pool, name, &indexes));
  return indexes;
}

// The chunks of a file that no index names.  The attributes are those that guard the removal.
using Unnamed = std::map<std::string, ObjectValues>;

// Removes the first chunk first: without it no link can name the file again.  False if a chunk has
// changed.
absl::StatusOr<bool> Remove(ObjectPool& pool, const Unnamed& chunks) {
  for (const auto& [chunk, attributes] : chunks) {
    ObjectWrite write;
    write.attributes_equal = attributes;
    write.remove = true;
    const absl::Status status = WriteObject(pool, chunk, write);
    if (absl::IsAborted(status)) return false;
    if (!absl::IsNotFound(status)) TRELLIS_RETURN_IF_ERROR(status);
  }
  return true;
}

}  // namespace

absl::StatusOr<GarbageReport> CollectGarbage(ObjectPool& pool) {
  GarbageReport report;
  std::map<std::string, Unnamed> files;  // by ID; chunk 0 is before the others of a file
  TRELLIS_RETURN_IF_ERROR(pool.List([&](const std::string& object) {
    const std::string id = IdIn(object);
    if (id.empty()) return;
    ++report.chunks;
    files[id][object] = {};
  }));
  TRELLIS_ASSIGN_OR_RETURN(Indexes indexes, ReadIndexes(pool));
  std::erase_if(files, [&](const auto& file) { return indexes.ids.contains(file.first); });
  for (auto& [id, chunks] : files) {
    for (auto& [chunk, guards] : chunks) {
      absl::StatusOr<ObjectContents> contents = pool.Read(chunk, {.with_attributes = true});
      if (absl::IsNotFound(contents.status())) continue;
      TRELLIS_RETURN_IF_ERROR(contents.status());
      for (const char* name : {kOwnerAttribute, kTagsAttribute})
        guards[name] = contents->attributes[name];
    }
  }
  // Again: a file may have got a name before its attributes were read.  If it gets one later, they
  // change.
  TRELLIS_ASSIGN_OR_RETURN(indexes, ReadIndexes(pool));
  for (const auto& [id, chunks] : files) {
    // An owner may be about to name the chunk.  An earlier owner cannot.
    const bool may_be_named =
        indexes.ids.contains(id) || std::any_of(chunks.begin(), chunks.end(), [&](const auto& one) {
          const auto owner = one.second.find(kOwnerAttribute);
          return owner != one.second.end() && indexes.owners.contains(owner->second);
        });
    bool is_removed = false;
    if (!may_be_named) {
      TRELLIS_ASSIGN_OR_RETURN(is_removed, Remove(pool, chunks));
    }
    (is_removed ? report.removed : report.kept) += chunks.size();
  }
  return report;
}

}  // namespace lsm
