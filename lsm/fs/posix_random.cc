#include <errno.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class KernelRandom final : public RandomSource {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    ssize_t length = 0;
    do {
      length = ::getrandom(&value, sizeof(value), 0);
    } while (length < 0 && errno == EINTR);
    if (length != static_cast<ssize_t>(sizeof(value))) {
      // Without randomness no store can be created safely: seeds and file ids would repeat.
      std::perror("getrandom");
      std::abort();
    }
    return value;
  }
};

}  // namespace

RandomSource& SystemRandom() {
  static KernelRandom* const random = new KernelRandom;
  return *random;
}

}  // namespace lsm
