// The interface between a plugin of tests/embed and the program that loads it.
#ifndef TRELLIS_TESTS_EMBED_PLUGIN_H_
#define TRELLIS_TESTS_EMBED_PLUGIN_H_

// Strings are valid until the next call.
struct Plugin {
  // Opens the store in the directory and puts an entry into it.  Returns null, or the error.
  const char* (*open)(const char* directory);
  // Reads the entry from a table and closes the store.  Returns the entry's value, which is the
  // directory, or the error.
  const char* (*read_and_close)();
  // The mangled name of a class, which contains the version of the binary interface.
  const char* (*interface)();
  // The one object that serves all stores of this copy of the library.
  const void* (*file_system)();
};

#endif  // TRELLIS_TESTS_EMBED_PLUGIN_H_
