// A plugin that keeps a store.  It is compiled with -fvisibility=hidden and exports one function;
// it must not export any symbol of Trellis.
#include "tests/embed/plugin.h"

#include <memory>
#include <string>
#include <typeinfo>

#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/event_listener.h"

namespace {

// Derives from a class of the library and calls its destructor.
class FlushCounter final : public lsm::EventListener {
 public:
  void OnFlushEnd(const lsm::FlushEnd& event) override { flushes += event.status.ok() ? 1 : 0; }
  int flushes = 0;
};

std::shared_ptr<FlushCounter> counter;
std::unique_ptr<lsm::DB> db;

const char* Open(const char* directory) {
  static std::string error;
  auto listener = std::make_shared<FlushCounter>();
  auto opened = lsm::DB::Open(directory, {.filter_kind = "ribbon", .listener = listener});
  absl::Status status = opened.status();
  if (status.ok()) status = (*opened)->Put("made in", directory);
  if (!status.ok()) return error = status.ToString(), error.c_str();
  counter = listener;
  db = *std::move(opened);
  return nullptr;
}

const char* ReadAndClose() {
  static std::string value;
  if (!db->Flush().ok()) return "Flush failed";
  const auto found = db->Get("made in", &value);
  if (!found.ok() || !*found) return "Get failed";
  if (!db->Close().ok()) return "Close failed";
  if (counter->flushes != 1) return "the listener has not counted the flush";
  db = nullptr;
  return value.c_str();
}

const char* Interface() { return typeid(lsm::DB).name(); }

const void* TheFileSystem() { return &lsm::PosixFileSystem(); }

}  // namespace

#ifndef PLUGIN_FUNCTION
#define PLUGIN_FUNCTION ThePlugin
#endif

extern "C" __attribute__((visibility("default"))) const Plugin* PLUGIN_FUNCTION() {
  static const Plugin plugin = {Open, ReadAndClose, Interface, TheFileSystem};
  return &plugin;
}
