#include "lsm/rados/rados_client.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "bloom/core/concat.h"
#include "bloom/core/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using bloom::Concat;

// Number of forks between the first process and this one.  Relaxed everywhere: it changes only in a
// child, before fork returns, when no other thread exists there.
std::atomic<uint32_t> forks{0};
void CountFork() { forks.fetch_add(1, std::memory_order_relaxed); }

absl::Status BadOption(std::string_view option, std::string_view why) {
  return absl::InvalidArgumentError(Concat("RadosOptions::", option, " ", why));
}

}  // namespace

std::string RadosErrorText(int error) { return std::system_category().message(error); }

// If there was no memory to register for forks, a child is taken for its parent.
RadosProcess::RadosProcess() : forks_(forks.load(std::memory_order_relaxed)) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, &CountFork);
}

bool RadosProcess::IsThisOne() const { return forks.load(std::memory_order_relaxed) == forks_; }

std::string RadosProcess::Name() {
  char host[256] = "";
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return Concat("host ", host[0] != '\0' ? host : "unknown", ", process ", ::getpid());
}

absl::StatusOr<std::unique_ptr<RadosClient>> RadosClient::Connect(const RadosOptions& options) {
  if (options.pool.empty()) return BadOption("pool", "is empty");
  if (options.lock_millis == 0) return BadOption("lock_millis", "is 0");
  for (const std::string* text : {&options.pool, &options.config_file, &options.user}) {
    if (text->find('\0') != text->npos)
      return absl::InvalidArgumentError("RadosOptions: a text contains a zero byte");
  }
  std::unique_ptr<RadosClient> client(new RadosClient(options.give_up_after_millis));
  TRELLIS_RETURN_IF_ERROR(client->Configure(options));
  int error = rados_connect(client->cluster_);
  if (error < 0) {
    return absl::UnavailableError(
        Concat("Ceph: connect as client.", options.user.empty() ? "admin" : options.user, ": ",
               RadosErrorText(-error), " (monitors and keys come from ",
               options.config_file.empty() ? "CEPH_CONF, CEPH_ARGS or Ceph's default places"
                                           : options.config_file,
               ")"));
  }
  error = rados_ioctx_create(client->cluster_, options.pool.c_str(), &client->io_);
  if (error == -ENOENT)
    return absl::NotFoundError(Concat("pool ", options.pool, ": no such pool in this cluster"));
  if (error < 0) {
    return absl::UnavailableError(
        Concat("pool ", options.pool, ": open: ", RadosErrorText(-error)));
  }
  client->pool_identity_ = client->IdentityOfPool();
  return client;
}

// A cluster never uses the number of a pool again.  All clients use the pool's default namespace.
std::string RadosClient::IdentityOfPool() const {
  char cluster[37] = "";
  if (rados_cluster_fsid(cluster_, cluster, sizeof(cluster)) < 0) return "";
  return Concat("rados:", cluster, ":", rados_ioctx_get_id(io_));
}

absl::Status RadosClient::Configure(const RadosOptions& options) {
  int error = rados_create(&cluster_, options.user.empty() ? nullptr : options.user.c_str());
  if (error < 0) {
    cluster_ = nullptr;
    return absl::UnavailableError(Concat("Ceph: create a client: ", RadosErrorText(-error)));
  }
  const std::string& file = options.config_file;
  error = rados_conf_read_file(cluster_, file.empty() ? nullptr : file.c_str());
  // CEPH_ARGS may have all that is needed.
  if (error < 0 && !(file.empty() && error == -ENOENT)) {
    return absl::InvalidArgumentError(Concat("Ceph: read the configuration ",
                                             file.empty() ? "of CEPH_CONF" : file, ": ",
                                             RadosErrorText(-error)));
  }
  error = rados_conf_parse_env(cluster_, nullptr);
  if (error < 0)
    return absl::InvalidArgumentError(Concat("Ceph: read CEPH_ARGS: ", RadosErrorText(-error)));
  // A call that librados gave up might be applied after others had relied on its absence.  So only
  // this library gives calls up, and says Unknown.
  error = rados_conf_set(cluster_, "rados_osd_op_timeout", "0");
  if (error == 0 && give_up_after_millis_ > 0) {
    const uint64_t seconds = std::max<uint64_t>(1, give_up_after_millis_ / 1000);
    error = rados_conf_set(cluster_, "client_mount_timeout", Concat(seconds).c_str());
  }
  if (error < 0)
    return absl::UnavailableError(Concat("Ceph: set an option: ", RadosErrorText(-error)));
  return absl::OkStatus();
}

RadosClient::~RadosClient() {
  if (!process_.IsThisOne()) return;
  if (io_ != nullptr) rados_ioctx_destroy(io_);
  if (cluster_ != nullptr) rados_shutdown(cluster_);
}

}  // namespace lsm
