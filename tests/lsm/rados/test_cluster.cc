#include "tests/lsm/rados/test_cluster.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "bloom/core/status.h"

namespace testing_support {
namespace {

absl::Status Failed(const std::string& call, int error) {
  return absl::UnavailableError(call + ": " + std::system_category().message(-error));
}

// An answer of librados.
std::string Taken(char* bytes, size_t size) {
  std::string answer(bytes, size);
  rados_buffer_free(bytes);
  return answer;
}

// A number in a text of JSON; 0 without it.
uint64_t NumberIn(const std::string& json, const std::string& name) {
  const std::string label = "\"" + name + "\":";
  const size_t at = json.find(label);
  return at == json.npos ? 0 : std::strtoull(json.c_str() + at + label.size(), nullptr, 10);
}

}  // namespace

TestCluster::TestCluster() : status_(Connect()) {}

TestCluster::~TestCluster() {
  if (cluster_ != nullptr) rados_shutdown(cluster_);
}

absl::Status TestCluster::Connect() {
  const char* const config = std::getenv("CEPH_CONF");
  if (config == nullptr || *config == '\0') {
    return absl::FailedPreconditionError(
        "this test needs a throw-away Ceph cluster: set CEPH_CONF to the path of its ceph.conf");
  }
  int error = rados_create(&cluster_, nullptr);
  if (error < 0) {
    cluster_ = nullptr;
    return Failed("create a client", error);
  }
  if ((error = rados_conf_read_file(cluster_, config)) < 0)
    return Failed(std::string("read ") + config, error);
  if ((error = rados_conf_set(cluster_, "client_mount_timeout", "10")) < 0)
    return Failed("set client_mount_timeout", error);
  if ((error = rados_connect(cluster_)) < 0)
    return Failed(std::string("connect to the cluster of ") + config, error);
  if (rados_pool_lookup(cluster_, kTestPool) >= 0) return absl::OkStatus();
  return Command(std::string(R"({"prefix": "osd pool create", "pg_num": 8, "pool": ")") +
                 kTestPool + "\"}");
}

absl::Status TestCluster::Command(const std::string& json) {
  TRELLIS_RETURN_IF_ERROR(AskMonitors(json).status());
  rados_wait_for_latest_osdmap(cluster_);
  return absl::OkStatus();
}

absl::StatusOr<std::string> TestCluster::AskMonitors(const std::string& json) {
  const char* commands[] = {json.c_str()};
  char* bytes = nullptr;
  size_t size = 0;
  const int error =
      rados_mon_command(cluster_, commands, 1, "", 0, &bytes, &size, nullptr, nullptr);
  if (error < 0) return Failed(json, error);
  return Taken(bytes, size);
}

absl::Status TestCluster::CommandOsd(const std::string& json) { return AskOsd(0, json).status(); }

absl::StatusOr<std::string> TestCluster::AskOsd(int osd, const std::string& json) {
  const char* commands[] = {json.c_str()};
  char* bytes = nullptr;
  size_t size = 0;
  const int error =
      rados_osd_command(cluster_, osd, commands, 1, "", 0, &bytes, &size, nullptr, nullptr);
  if (error < 0) return Failed(json, error);
  return Taken(bytes, size);
}

absl::StatusOr<OsdCalls> TestCluster::CountCalls() {
  OsdCalls calls;
  for (int osd = 0;; ++osd) {
    const absl::StatusOr<std::string> counters =
        AskOsd(osd, R"({"prefix": "perf dump", "logger": "osd"})");
    if (!counters.ok() && osd > 0) return calls;  // after the last OSD
    TRELLIS_RETURN_IF_ERROR(counters.status());
    TRELLIS_ASSIGN_OR_RETURN(const std::string watchers,
                             AskOsd(osd, R"({"prefix": "dump_watchers"})"));
    calls.reads += NumberIn(*counters, "op_r");
    calls.writes += NumberIn(*counters, "op_w") + NumberIn(*counters, "op_rw");
    for (size_t at = 0; (at = watchers.find("\"cookie\"", at)) != watchers.npos; ++at)
      ++calls.watches;
  }
}

absl::StatusOr<std::string> TestCluster::AddressOfHolder(const std::string& object) {
  rados_ioctx_t io = nullptr;
  if (const int error = rados_ioctx_create(cluster_, kTestPool, &io); error < 0)
    return Failed("open the pool", error);
  int exclusive = 0;
  std::array<char, 1000> tag{}, clients{}, cookies{}, addresses{};
  size_t tag_bytes = tag.size(), clients_bytes = clients.size();
  size_t cookies_bytes = cookies.size(), addresses_bytes = addresses.size();
  const ssize_t count = rados_list_lockers(
      io, object.c_str(), "trellis", &exclusive, tag.data(), &tag_bytes, clients.data(),
      &clients_bytes, cookies.data(), &cookies_bytes, addresses.data(), &addresses_bytes);
  rados_ioctx_destroy(io);
  if (count < 0) return Failed("list the lock's holders", static_cast<int>(count));
  if (count != 1 || exclusive != 1) return absl::NotFoundError(object + ": is not locked");
  return std::string(addresses.data());
}

absl::Status TestCluster::EvictHolder(const std::string& object) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string address, AddressOfHolder(object));
  return Command(R"({"prefix": "osd blocklist", "blocklistop": "add", "expire": 60.0, "addr": ")" +
                 address + "\"}");
}

absl::Status TestCluster::EndEvictions() { return Command(R"({"prefix": "osd blocklist clear"})"); }

absl::StatusOr<lsm::RadosOptions> TestCluster::AddUser(const std::string& rights,
                                                       const std::string& config_file) {
  lsm::RadosOptions options = Options();
  options.user = UniqueName();
  options.config_file = config_file;
  const std::string entity = "client." + options.user;
  TRELLIS_ASSIGN_OR_RETURN(
      const std::string key,
      AskMonitors(R"({"prefix": "auth get-or-create-key", "entity": ")" + entity +
                  R"(", "caps": ["mon", "allow r", "osd", ")" + rights + "\"]}"));
  std::ofstream file(config_file);
  file << std::ifstream(std::getenv("CEPH_CONF")).rdbuf() << "[" << entity << "]\nkey = " << key
       << "\n";
  file.close();
  return file.good() ? options
                     : absl::StatusOr<lsm::RadosOptions>(absl::UnavailableError(config_file));
}

lsm::RadosOptions TestCluster::Options() {
  lsm::RadosOptions options;
  options.pool = kTestPool;
  options.user = kTestUser;
  return options;
}

std::string TestCluster::UniqueName() {
  static std::atomic<int> number{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return "test-" + std::to_string(now) + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(++number);
}

}  // namespace testing_support
