#include "bench/filter_lab/vectors/vector_subjects.h"

#include <memory>
#include <utility>

#include "bench/sax_hash.h"
#include "bloom/core/sizing.h"
#include "bloom/counting.h"
#include "bloom/filter.h"
#include "bloom/literature/vectors.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Vector = std::span<const int32_t>;

template <class Filter, class MayContain>
auto Counting(std::shared_ptr<Filter> filter, MayContain may_contain) {
  return [filter, may_contain](const bloom::VectorList<int32_t>& queries, size_t count) {
    uint64_t passing = 0;
    for (size_t i = 0; i < count; ++i) passing += may_contain(*filter, queries[i]);
    return passing;
  };
}

// The study's filters.  Its BF hashes the bytes of a vector, its HDBF the components.
template <class Element>
VectorSubject SaxSubject(std::string name, uint64_t keys, double target_fpp, SaxProbes probes) {
  const auto elements_of = [](Vector vector) {
    return std::span<const Element>(reinterpret_cast<const Element*>(vector.data()),
                                    vector.size_bytes() / sizeof(Element));
  };
  const auto filter = std::make_shared<SaxFilter<Element>>(keys, target_fpp, probes);
  VectorSubject subject;
  subject.name = std::move(name);
  subject.add = [filter, elements_of](Vector vector) { filter->Add(elements_of(vector)); };
  subject.count_passing =
      Counting(filter, [elements_of](const SaxFilter<Element>& asked, Vector vector) {
        return asked.MayContain(elements_of(vector));
      });
  subject.size_bits = filter->size_bits();
  // The same hash k times is one probe.
  subject.probes = filter->probes();
  const uint32_t different = probes == SaxProbes::kSameAgain ? 1 : filter->probes();
  subject.predicted = bloom::StandardFpp(filter->size_bits(), different, keys);
  return subject;
}

template <class Base>
absl::StatusOr<VectorSubject> LibrarySubject(std::string name, uint64_t keys, double target_fpp,
                                             uint32_t dimension, uint64_t seed) {
  using Filter = bloom::VectorFilter<int32_t, Base>;
  TRELLIS_ASSIGN_OR_RETURN(Filter made,
                           Filter::Make(keys, target_fpp, {.dimension = dimension, .seed = seed}));
  const auto filter = std::make_shared<Filter>(std::move(made));
  VectorSubject subject;
  subject.name = std::move(name);
  subject.add = [filter](Vector vector) { filter->AddDigest(filter->DigestOf(vector)); };
  subject.count_passing =
      Counting(filter, [](const Filter& asked, Vector vector) { return asked.MayContain(vector); });
  subject.size_bits = filter->size_bits();
  subject.probes = filter->base().shape().probes;
  subject.predicted = filter->PredictedFpp(keys);
  return subject;
}

}  // namespace

absl::StatusOr<std::vector<VectorSubject>> VectorSubjects(uint64_t keys, double target_fpp,
                                                          uint32_t dimension, uint64_t seed) {
  std::vector<VectorSubject> subjects;
  subjects.push_back(SaxSubject<uint8_t>(kStudyBf, keys, target_fpp, SaxProbes::kSameAgain));
  subjects.push_back(SaxSubject<uint32_t>(kStudyHdbf, keys, target_fpp, SaxProbes::kSameAgain));
  subjects.push_back(
      SaxSubject<uint8_t>("SAX of bytes, k hashes", keys, target_fpp, SaxProbes::kSeeded));
  subjects.push_back(
      SaxSubject<uint32_t>("SAX of components, k hashes", keys, target_fpp, SaxProbes::kSeeded));
  TRELLIS_ASSIGN_OR_RETURN(VectorSubject blocked,
                           LibrarySubject<bloom::Filter<bloom::Blocked>>(
                               "vectors, blocked", keys, target_fpp, dimension, seed));
  subjects.push_back(std::move(blocked));
  TRELLIS_ASSIGN_OR_RETURN(VectorSubject standard,
                           LibrarySubject<bloom::Filter<bloom::Standard>>(
                               "vectors, standard", keys, target_fpp, dimension, seed));
  subjects.push_back(std::move(standard));
  TRELLIS_ASSIGN_OR_RETURN(VectorSubject counting,
                           LibrarySubject<bloom::CountingFilter>("vectors, counting", keys,
                                                                 target_fpp, dimension, seed));
  subjects.push_back(std::move(counting));
  return subjects;
}

absl::Status AddAll(const bloom::VectorList<int32_t>& vectors, VectorSubject* subject) {
  for (size_t i = 0; i < vectors.size(); ++i) subject->add(vectors[i]);
  if (subject->count_passing(vectors, vectors.size()) == vectors.size()) return absl::OkStatus();
  return absl::InternalError(lsm::Concat(subject->name, ": denies a vector that was added"));
}

}  // namespace bench
