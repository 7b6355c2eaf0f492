// A filter with false negatives, for tests that detect them.
#ifndef TRELLIS_TESTS_LSM_TABLE_FORGETFUL_POLICY_H_
#define TRELLIS_TESTS_LSM_TABLE_FORGETFUL_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bloom/filter_policy.h"

namespace lsm {

// Its builder omits every tenth key without reporting it.
class ForgetfulPolicy : public bloom::FilterPolicy {
 public:
  std::string_view name() const override { return "blocked"; }
  std::unique_ptr<bloom::FilterBuilder> NewBuilder(
      const bloom::FilterContext& context) const override {
    class Builder : public bloom::FilterBuilder {
     public:
      explicit Builder(std::unique_ptr<bloom::FilterBuilder> whole) : whole_(std::move(whole)) {}
      void Add(bloom::Digest digest) override {
        if (++added_ % 10 != 0) whole_->Add(digest);
      }
      uint64_t key_count() const override { return whole_->key_count(); }
      absl::StatusOr<std::string> Finish() override { return whole_->Finish(); }

     private:
      const std::unique_ptr<bloom::FilterBuilder> whole_;
      uint64_t added_ = 0;
    };
    return std::make_unique<Builder>(bloom::PolicyFromName("blocked").value()->NewBuilder(context));
  }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_TABLE_FORGETFUL_POLICY_H_
