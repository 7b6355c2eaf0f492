// All code that reads untrusted bytes (filters, the store's files, sstdump), for the fuzzers and
// for the test that replays their corpora.
#ifndef TRELLIS_TESTS_FUZZ_LOADERS_H_
#define TRELLIS_TESTS_FUZZ_LOADERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

// A piece of a file that the fuzzer mutates alone.  `kind` is the piece's role in the file.
struct Part {
  char kind = 0;
  std::string bytes;
  bool operator==(const Part&) const = default;
};

enum class Library : uint8_t { kFilters, kStore };

struct Loader {
  std::string name;  // also of its corpus, tests/testdata/fuzz/[store/]NAME.corpus
  // Loads arbitrary bytes and uses the result.  Aborts if an invariant is violated.  Returns true
  // if the bytes were accepted.
  bool (*use)(std::string_view bytes);
  // Changes the header, if the bytes have one, so that it matches the length of the payload.  A
  // fuzzer would not find such a header by chance.
  void (*reshape)(std::string& bytes, uint64_t random);
  // Corrects the checksums, if the bytes have any.  A fuzzer would not find them by chance.
  void (*repair)(std::string& bytes);
  // Returns valid bytes of every variant.
  std::vector<std::string> (*seeds)();
  Library library = Library::kFilters;
  // For bytes that consist of parts within a framing.  `take_apart` returns the parts, or nothing
  // if the framing cannot be read.  `put_together` joins any parts within a correct framing.  Both
  // are null if the bytes have no parts.
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

// `repair` and `reshape` for bytes that begin with the header of a filter.
void RepairHeader(std::string& bytes);
void ReshapeHeader(std::string& bytes, uint64_t random);

// A corpus in one file: | size: u32, little-endian | bytes | ... |
std::string PackCorpus(const std::vector<std::string>& inputs);
// Aborts if `packed` is not a corpus.
std::vector<std::string> UnpackCorpus(std::string_view packed);

}  // namespace fuzz

#endif  // TRELLIS_TESTS_FUZZ_LOADERS_H_
