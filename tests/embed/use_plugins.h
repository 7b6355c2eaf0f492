// Uses several plugins in one process.
#ifndef TRELLIS_TESTS_EMBED_USE_PLUGINS_H_
#define TRELLIS_TESTS_EMBED_USE_PLUGINS_H_

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "tests/embed/plugin.h"

[[noreturn]] inline void Fail(const std::string& what) {
  std::cerr << "wrong: " << what << "\n";
  std::exit(1);
}

// Each plugin opens a store while the other plugins' stores are open.  REQUIRES: the plugins
// contain different versions of Trellis.
inline void UsePlugins(const std::vector<const Plugin*>& plugins) {
  std::set<std::string> interfaces;
  std::set<const void*> file_systems;
  std::vector<std::string> directories;
  for (const Plugin* plugin : plugins) {
    const std::string interface = plugin->interface();
    if (!interfaces.insert(interface).second) Fail("two plugins have the interface " + interface);
    if (!file_systems.insert(plugin->file_system()).second) Fail("two plugins share an object");
    directories.push_back(std::filesystem::current_path() / (interface + ".store"));
    std::filesystem::remove_all(directories.back());
  }
  for (size_t i = 0; i < plugins.size(); ++i) {
    if (const char* error = plugins[i]->open(directories[i].c_str()); error != nullptr) Fail(error);
  }
  // A store that one plugin has open is locked for all of them.
  for (const Plugin* plugin : plugins) {
    for (const std::string& directory : directories) {
      if (plugin->open(directory.c_str()) == nullptr) Fail(directory + " was opened twice");
    }
  }
  for (size_t i = 0; i < plugins.size(); ++i) {
    const std::string value = plugins[i]->read_and_close();
    if (value != directories[i]) Fail(directories[i] + ": " + value);
  }
}

#endif  // TRELLIS_TESTS_EMBED_USE_PLUGINS_H_
