// Everything in bloom/ that reads bytes, for fuzzers and for the test of their corpora.
#ifndef TRELLIS_TESTS_FUZZ_LOADERS_H_
#define TRELLIS_TESTS_FUZZ_LOADERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

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
};

const std::vector<Loader>& Loaders();
// Of filters that answer other questions than whether a key was added: a part of them.
std::vector<Loader> OtherLoaders();

// For them: the header of a filter, its sizes, its checksums.
void RepairHeader(std::string& bytes);
void ReshapeHeader(std::string& bytes, uint64_t random);

// A corpus in one file: | size: u32, little-endian | bytes | ... |
std::string PackCorpus(const std::vector<std::string>& inputs);
// Aborts where `packed` is none.
std::vector<std::string> UnpackCorpus(std::string_view packed);

}  // namespace fuzz

#endif  // TRELLIS_TESTS_FUZZ_LOADERS_H_
