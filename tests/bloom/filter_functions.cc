#include "tests/bloom/filter_functions.h"

namespace testing_support {

FunctionAddresses AddressesForAnyCpu() { return AddressesInThisFile(); }

}  // namespace testing_support
