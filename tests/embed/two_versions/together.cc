// Two versions of Trellis that are linked into one program.
#include "tests/embed/use_plugins.h"

extern "C" const Plugin* OnePlugin();
extern "C" const Plugin* OtherPlugin();

int main() { UsePlugins({OnePlugin(), OtherPlugin()}); }
