// Everything that reads bytes which others wrote (filters, the store's files, sstdump), for fuzzers
// and for the test of their corpora.
#ifndef TRELLIS_TESTS_FUZZ_LOADERS_H_
#define TRELLIS_TESTS_FUZZ_LOADERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

// A piece of a file that is mutated alone.  The kind says what its place in the whole is.
struct Part {
  char kind = 0;
  std::string bytes;
  bool operator==(const Part&) const = default;
};

enum class Library : uint8_t { kFilters, kStore };

struct Loader {
  std::string name;  // of its corpus too: tests/testdata/fuzz/NAME.corpus
  // Loads any bytes whatever and uses what it gets; aborts where something does not hold.  True if
  // they were accepted.
  bool (*use)(std::string_view bytes);
  // Changes the header, where the bytes have one, such that the payload has the right length for
  // it: a fuzzer would not find that either.
  void (*reshape)(std::string& bytes, uint64_t random);
  // Makes the checksums right, where the bytes have any: a fuzzer would not find them.
  void (*repair)(std::string& bytes);
  // Sound bytes of every sort.
  std::vector<std::string> (*seeds)();
  Library library = Library::kFilters;
  // Where the bytes are parts under a framing that tells where each lies: these parts (none if it
  // cannot be told), and a whole of any parts under a framing that is right.  Null: there are none.
  std::vector<Part> (*take_apart)(std::string_view bytes) = nullptr;
  std::string (*put_together)(const std::vector<Part>& parts) = nullptr;
};

const std::vector<Loader>& Loaders();
// The part of Loaders() for filters that answer other questions than whether a key was added.
std::vector<Loader> OtherLoaders();
// The part for the store: its files one by one, a whole store, and sstdump.
std::vector<Loader> StoreLoaders();
Loader TableLoader();
Loader WholeStoreLoader();
Loader SstdumpLoader();

// For them: the header of a filter, its sizes, its checksums.
void RepairHeader(std::string& bytes);
void ReshapeHeader(std::string& bytes, uint64_t random);

// A corpus in one file: | size: u32, little-endian | bytes | ... |
std::string PackCorpus(const std::vector<std::string>& inputs);
// Aborts where `packed` is none.
std::vector<std::string> UnpackCorpus(std::string_view packed);

}  // namespace fuzz

#endif  // TRELLIS_TESTS_FUZZ_LOADERS_H_
