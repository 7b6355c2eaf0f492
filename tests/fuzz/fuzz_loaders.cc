// Runs libFuzzer on one of the loaders (tests/fuzz/loaders.h).  `tools/dev fuzz` runs all of them.
//
//   fuzz_loaders --loader=NAME [options of libFuzzer] DIRECTORY
//   fuzz_loaders --list[=store]              lists all loaders, or those of the store's library
//   fuzz_loaders --loader=NAME --unpack=FILE DIRECTORY
//                                            writes the inputs of a corpus, and the seeds, as files
//   fuzz_loaders --loader=NAME --pack=FILE DIRECTORY
//                                            writes the files of a directory as a corpus
//
// Most mutated inputs get correct checksums, because otherwise no code after the checks would run.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/loaders.h"
#include "tests/support/read_file.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

namespace fs = std::filesystem;

const fuzz::Loader* loader = nullptr;

// A mutation lengthens a part by at most this many bytes.
constexpr size_t kPartGrowsBy = 64;

[[noreturn]] void Die(const std::string& why) {
  std::cerr << "fuzz_loaders: " << why << "\n";
  std::exit(2);
}

const fuzz::Loader* Find(std::string_view name) {
  for (const fuzz::Loader& one : fuzz::Loaders()) {
    if (one.name == name) return &one;
  }
  Die("there is no loader " + std::string(name));
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  if (!std::ofstream(path, std::ios::binary)
           .write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    Die("cannot write " + path.string());
}

void Unpack(const fs::path& corpus, const fs::path& directory) {
  fs::create_directories(directory);
  int number = 0;
  for (const std::string& seed : loader->seeds())
    WriteFile(directory / ("seed-" + std::to_string(number++)), seed);
  for (const std::string& input : fuzz::UnpackCorpus(testing_support::ReadFile(corpus)))
    WriteFile(directory / ("kept-" + std::to_string(number++)), input);
}

void Pack(const fs::path& corpus, const fs::path& directory) {
  std::vector<std::string> inputs;
  for (const auto& entry : fs::directory_iterator(directory))
    inputs.push_back(testing_support::ReadFile(entry.path()));
  std::sort(inputs.begin(), inputs.end());
  WriteFile(corpus, fuzz::PackCorpus(inputs));
  std::cout << inputs.size() << " inputs in " << corpus.string() << "\n";
}

// Removes, duplicates, swaps or mutates one part.  Returns an empty string if there are no parts.
std::string MutatedByPart(std::string_view bytes, unsigned int random) {
  std::vector<fuzz::Part> parts = loader->take_apart(bytes);
  if (parts.empty()) return "";
  const size_t at = random / 16 % parts.size();
  const size_t other = random / 1024 % parts.size();
  fuzz::Part& part = parts[at];
  switch (random % 16) {
    case 0:
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      parts.insert(parts.begin() + static_cast<ptrdiff_t>(other), fuzz::Part(part));
      break;
    case 2:
      std::swap(part, parts[other]);
      break;
    case 3:
      std::swap(part.bytes, parts[other].bytes);
      break;
    default: {
      const size_t part_bytes = part.bytes.size();
      part.bytes.resize(part_bytes + kPartGrowsBy);
      part.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(part.bytes.data()), part_bytes,
                                         part.bytes.size()));
    }
  }
  return loader->put_together(parts);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::string unpack, pack, directory;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    const auto value = [&](std::string_view option) {
      return argument.starts_with(option) ? std::string(argument.substr(option.size())) : "";
    };
    if (argument == "--list" || argument == "--list=store") {
      for (const fuzz::Loader& one : fuzz::Loaders()) {
        if (argument == "--list" || one.library == fuzz::Library::kStore)
          std::cout << one.name << "\n";
      }
      std::exit(0);
    }
    if (!value("--loader=").empty()) loader = Find(value("--loader="));
    if (!value("--unpack=").empty()) unpack = value("--unpack=");
    if (!value("--pack=").empty()) pack = value("--pack=");
    if (!argument.starts_with("-")) directory = argument;
  }
  if (loader == nullptr) Die("--loader=NAME is missing");
  if (unpack.empty() && pack.empty()) return 0;
  if (!unpack.empty()) Unpack(unpack, directory);
  if (!pack.empty()) Pack(pack, directory);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  loader->use({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const auto put = [&](const std::string& bytes) {
    std::copy(bytes.begin(), bytes.end(), data);
    return bytes.size();
  };
  if (loader->take_apart != nullptr && seed % 4 != 0) {
    std::string bytes = MutatedByPart({reinterpret_cast<const char*>(data), size}, seed / 4);
    if (seed / 256 % 4 == 0) loader->reshape(bytes, seed / 1024);
    if (!bytes.empty() && bytes.size() <= max_size) return put(bytes);
  }
  const size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed / 4 % 16 == 0) return mutated;
  std::string bytes(reinterpret_cast<const char*>(data), mutated);
  if (seed / 64 % 4 == 0) loader->reshape(bytes, seed / 256);
  loader->repair(bytes);
  return bytes.size() <= max_size ? put(bytes) : mutated;
}
