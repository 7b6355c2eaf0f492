// Tables that are joined from arbitrary parts, with right checksums.
#ifndef TRELLIS_TESTS_LSM_TABLE_TABLE_FORGERY_H_
#define TRELLIS_TESTS_LSM_TABLE_TABLE_FORGERY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/block/block.h"
#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/limits.h"
#include "lsm/table/properties.h"
#include "tests/lsm/table/table_model.h"

namespace lsm {

inline constexpr uint64_t kFileId = 0xf047;

// The parts of a table.  Each part may be arbitrary.
struct Forgery {
  struct Stored {
    std::string bytes;
    uint8_t compression = 0;
  };
  std::vector<Stored> data_blocks;
  std::vector<std::pair<std::string, BlockHandle>>
      index;                // filled for data_blocks unless it is not empty
  std::string index_bytes;  // built from `index` unless it is not empty
  std::string filter_bytes;
  std::string ranges_bytes;  // empty: no block
  std::string properties_bytes;
  // The compression in the trailers of these blocks.
  uint8_t index_compression = 0;
  uint8_t filter_compression = 0;
  uint8_t ranges_compression = 0;
  uint8_t properties_compression = 0;
  std::function<void(Footer*)> change_footer;
  // Called with the encoded footer, before its checksum is computed again.
  std::function<void(std::string*)> change_footer_bytes;

  static BlockHandle Append(const Stored& stored, std::string* file) {
    const BlockHandle handle{file->size(), stored.bytes.size()};
    std::string bytes = stored.bytes;
    bytes.push_back(static_cast<char>(stored.compression));
    AppendFixed64(&bytes, Checksum(bytes, kFileId, handle.offset));
    file->append(bytes);
    return handle;
  }

  std::string Make() const {
    std::string file = EncodeTableHeader(kFileId);
    Footer footer;
    footer.file_id = kFileId;
    footer.data_blocks = data_blocks.size();
    footer.entries = 1;
    BlockBuilder index_block(kIndexRestartInterval);
    const auto add_to_index = [&](std::string_view key, BlockHandle handle) {
      std::string encoded;
      AppendVarint64(&encoded, handle.offset);
      AppendVarint64(&encoded, handle.stored_bytes);
      index_block.Add(key, encoded);
    };
    for (size_t i = 0; i < data_blocks.size(); ++i) {
      const BlockHandle handle = Append(data_blocks[i], &file);
      if (index.empty()) add_to_index(std::string(1, static_cast<char>('b' + 2 * i)), handle);
    }
    for (const auto& [key, handle] : index) add_to_index(key, handle);
    if (!filter_bytes.empty()) footer.filter = Append({filter_bytes, filter_compression}, &file);
    footer.index = Append(
        {index_bytes.empty() ? std::string(index_block.Finish()) : index_bytes, index_compression},
        &file);
    if (!ranges_bytes.empty()) footer.ranges = Append({ranges_bytes, ranges_compression}, &file);
    TableProperties properties;
    properties.digest_seed = kTestSeed;
    properties.largest_sequence = kSequenceMax;
    properties.largest_key = std::string(100, '\xff');
    footer.properties = Append(
        {properties_bytes.empty() ? properties.Encode() : properties_bytes, properties_compression},
        &file);
    footer.file_bytes = file.size() + kFooterBytes;
    if (change_footer) change_footer(&footer);
    std::string end = footer.Encode();
    if (change_footer_bytes) {
      change_footer_bytes(&end);
      StoreFixed64(end.data() + 96, Checksum(end.substr(0, 96), footer.file_id, file.size()));
    }
    return file + end;
  }
};

inline std::string Entry(uint32_t shared, std::string_view tail, std::string_view value) {
  std::string bytes;
  AppendVarint32(&bytes, shared);
  AppendVarint32(&bytes, static_cast<uint32_t>(tail.size()));
  AppendVarint32(&bytes, static_cast<uint32_t>(value.size()));
  bytes.append(tail);
  bytes.append(value);
  return bytes;
}

inline std::string BlockOf(std::string entries, const std::vector<uint32_t>& restarts) {
  for (const uint32_t restart : restarts) AppendFixed32(&entries, restart);
  AppendFixed32(&entries, static_cast<uint32_t>(restarts.size()));
  return entries;
}

inline std::string Key(std::string_view user_key, uint8_t kind = 1) {
  std::string key(user_key);
  AppendFixed64(&key, (uint64_t{7} << 8) | kind);
  return key;
}

inline std::string SoundBlock(std::string_view user_key = "a") {
  return BlockOf(Entry(0, Key(user_key), "value"), {0});
}

// A table whose index has keys of the maximum length, every 16th of them stored whole.
inline Forgery WithLongFences(size_t blocks) {
  Forgery forgery;
  BlockBuilder index(kIndexRestartInterval);
  std::string fence(kKeyBytesMax, 'k');
  uint64_t offset = kTableHeaderBytes;
  for (size_t i = 0; i < blocks; ++i) {
    forgery.data_blocks.push_back({SoundBlock()});
    const uint64_t bytes = forgery.data_blocks.back().bytes.size();
    for (size_t at = 0; at < 8; ++at)
      fence[fence.size() - 1 - at] = static_cast<char>(i >> (8 * at));
    std::string handle;
    AppendVarint64(&handle, offset);
    AppendVarint64(&handle, bytes);
    index.Add(fence, handle);
    offset += bytes + kBlockTrailerBytes;
  }
  forgery.index_bytes = std::string(index.Finish());
  return forgery;
}

// A table with one data block of these bytes.
inline std::string WithBlock(std::string bytes, uint8_t compression = 0) {
  Forgery forgery;
  forgery.data_blocks = {{std::move(bytes), compression}};
  return forgery.Make();
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_TABLE_TABLE_FORGERY_H_
