// Comparisons of an object's attributes or entries.
#ifndef TRELLIS_LSM_OBJECTS_OBJECT_VALUES_H_
#define TRELLIS_LSM_OBJECTS_OBJECT_VALUES_H_

#include <algorithm>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/object_pool.h"

namespace lsm::inline TRELLIS_ABI {

// Empty if there is none of this name.
inline std::string_view ValueOf(const ObjectValues& values, const std::string& name) {
  const auto place = values.find(name);
  return place == values.end() ? std::string_view() : place->second;
}

// Whether `values` has everything that is wanted.  An empty value is as good as none.
inline bool AreEqual(const ObjectValues& values, const ObjectValues& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const auto& one) { return ValueOf(values, one.first) == one.second; });
}

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_OBJECT_VALUES_H_
