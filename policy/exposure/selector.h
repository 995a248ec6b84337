#pragma once
// Expressions over host devices: `device` as a DeviceExposurePolicy's selector sees it.
//
// Unlike in a DeviceClass, a known attribute that the device lacks reads as its zero value (zero_of), has()
// and the optional syntax see the absence, and a name that is not known is refused when the policy is read.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cel/program.h"
#include "policy/exposure/attributes.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// As cel::Program::compile. driver: the domain of our own attributes.
/// Blocks for at most 50 ms (cel::kCompileStepsMax): for the worker that decides, and for commands.
Result<cel::Program> compile_selector(const std::string& cel, const std::string& driver,
                                      cel::Mistake* mistake = nullptr,
                                      uint64_t steps_max = cel::kCompileStepsMax);

/// One host device at a time; what was read of it is kept until the next one.
/// Threads: one evaluation at a time; it keeps what it has read in members that are mutable.
class HostDeviceView final : public cel::Device {
 public:
  explicit HostDeviceView(std::string driver);
  /// facts must last until the next call.
  void look_at(const DeviceFacts& facts);

  /// How facts that nobody can tell now (is_unknown() of attributes.h) are read: as if they were absent, or
  /// as an error, which is absorbed as errors are ("true || unknown" is true). What was asked is forgotten.
  enum class Unknown : uint8_t { kIsAbsent, kIsAnError };
  void read_unknown(Unknown as);
  /// The first such fact that was asked for since; nullptr none, or not as an error.
  const KnownAttribute* unknown_asked() const { return unknown_asked_; }
  /// A map of attributes was asked what it holds: no answer can be relied on then.
  bool is_doubtful() const { return is_doubtful_; }

  std::string_view driver() const override { return driver_; }
  bool allow_multiple_allocations() const override { return false; }
  std::optional<cel::Value> read(const cel::Path& path, cel::Arena& arena) const override;
  bool has(const cel::Path& path, cel::Arena& arena) const override;
  bool is_unknown(const cel::Path& path) const override;
  const cel::Map* attributes(cel::Arena& arena) const override;
  const cel::Map* capacity(cel::Arena& arena) const override;

  /// The attribute at that index of known_attributes(); nullptr when the device lacks it.
  /// Valid until the next look_at().
  const kube::AttributeValue* value(size_t known) const;
  /// value(), or what a selector reads instead.
  /// Texts of it point into the view: they last until the next look_at().
  cel::Value value_or_zero(size_t known) const;
  /// Notes it.
  bool is_unknown(size_t known) const;
  void unverified(size_t known) const { is_doubtful_ |= is_unknown(known); }

 private:
  const std::string driver_;
  std::optional<DeviceFacts> facts_;
  struct Known {
    bool is_read = false;
    std::optional<kube::AttributeValue> value;
    std::string
        names;  // a text with other names after it, as cel::Value::with_others() has them; "" it has none
  };
  mutable std::vector<Known> known_;  // in the order of known_attributes()
  Unknown unknown_ = Unknown::kIsAbsent;
  mutable const KnownAttribute* unknown_asked_ = nullptr;
  mutable bool is_doubtful_ = false;
};

}  // namespace sliced::policy
