#include "tests/lsm/objects/object_pool_contract.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "lsm/objects/memory_object_pool.h"

namespace lsm {
namespace {

class MemoryPoolBackend final : public PoolBackend {
 public:
  ObjectPool& pool() override { return pool_; }
  ObjectPool& other_pool() override { return other_pool_; }
  void Pass(uint64_t nanos) override { objects_->Advance(nanos); }

 private:
  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  MemoryObjectPool pool_{objects_}, other_pool_{objects_};
};

INSTANTIATE_TEST_SUITE_P(Memory, ObjectPoolContractTest,
                         testing::Values(PoolFactory{
                             "Memory", [] { return std::make_unique<MemoryPoolBackend>(); }}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lsm
