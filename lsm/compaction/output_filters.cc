#include "lsm/compaction/output_filters.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

namespace lsm::inline TRELLIS_ABI {

const TableFilter& OutputFilters::For(std::string_view user_key) const {
  if (choices_.size() == 1) return choices_[0].filter;
  const int step = HotnessStepOf(scale_.HotnessOf(inputs_.Ahead(user_key, table_bytes_)));
  return std::min_element(choices_.begin(), choices_.end(),
                          [step](const Choice& a, const Choice& b) {
                            return std::abs(a.hotness_step - step) <
                                   std::abs(b.hotness_step - step);
                          })
      ->filter;
}

WastedReads OutputFilters::InheritedBy(const KeySpan& span) const {
  const std::optional<std::string> to =
      span.end ? std::optional(span.end->ToString()) : std::nullopt;
  WastedReads inherited;
  inherited.Add(inputs_.Between(span.begin, to).reads, HotnessScale::kKept);
  return inherited;
}

}  // namespace lsm
