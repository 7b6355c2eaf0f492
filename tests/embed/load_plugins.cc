// load_plugins PLUGIN.so...: loads plugins into one process and uses them together.
#include <dlfcn.h>

#include "tests/embed/use_plugins.h"

int main(int argc, char** argv) {
  std::vector<const Plugin*> plugins;
  for (int i = 1; i < argc; ++i) {
    void* const library =
        dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);  // so that symbols with equal names would collide
    if (library == nullptr) Fail(dlerror());
    void* const function = dlsym(library, "ThePlugin");
    if (function == nullptr) Fail(dlerror());
    plugins.push_back(reinterpret_cast<const Plugin* (*)()>(function)());
  }
  if (plugins.empty()) Fail("no plugins");
  UsePlugins(plugins);
}
