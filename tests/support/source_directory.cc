#include "tests/support/source_directory.h"

namespace testing_support {

std::filesystem::path SourceDirectory() { return TRELLIS_SOURCE_DIR; }

}  // namespace testing_support
