#pragma once
// CEL expressions over host devices: `device` in the selector of a DeviceExposurePolicy.
//
// Unlike in a DeviceClass, a known attribute that the device lacks reads as its zero value (zero_of). has()
// and the optional syntax see its absence. An unknown name is refused when the policy is decoded.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cel/program.h"
#include "policy/exposure/attributes.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// Like cel::Program::compile. driver: the domain of our attributes.
/// Blocks for at most 50 ms (cel::kCompileStepsMax): for the deciding worker, and for commands.
Result<cel::Program> compile_selector(const std::string& cel, const std::string& driver,
                                      cel::Mistake* mistake = nullptr,
                                      uint64_t steps_max = cel::kCompileStepsMax);

/// The view of one host device at a time; attributes are cached until the next set_device().
/// Threads: one evaluation at a time, because the cache is mutable.
class HostDeviceView final : public cel::Device {
 public:
  explicit HostDeviceView(std::string driver);
  /// Requires: facts are valid until the next call.
  void set_device(const DeviceFacts& facts);

  /// How unknown facts (is_unknown() of attributes.h) are read: as absent, or as an error, which CEL may
  /// absorb ("true || unknown" is true). Resets unknown_asked().
  enum class Unknown : uint8_t { kIsAbsent, kIsAnError };
  void read_unknown(Unknown as);
  /// Returns the first unknown fact that was read since; nullptr if none, or if they read as absent.
  const KnownAttribute* unknown_asked() const { return unknown_asked_; }
  /// Returns true if the expression enumerated a map with unknown attributes: its answer is unreliable.
  bool is_doubtful() const { return is_doubtful_; }

  std::string_view driver() const override { return driver_; }
  bool allow_multiple_allocations() const override { return false; }
  std::optional<cel::Value> read(const cel::Path& path, cel::Arena& arena) const override;
  bool has(const cel::Path& path, cel::Arena& arena) const override;
  bool is_unknown(const cel::Path& path) const override;
  const cel::Map* attributes(cel::Arena& arena) const override;
  const cel::Map* capacity(cel::Arena& arena) const override;

  /// Returns the attribute at that index of known_attributes(); nullptr if the device lacks it. Valid until
  /// the next set_device().
  const kube::AttributeValue* value(size_t known) const;
  /// Returns value(), or the zero value. Texts are valid until the next set_device().
  cel::Value value_or_zero(size_t known) const;
  /// Records the unknown fact.
  bool is_unknown(size_t known) const;
  void unverified(size_t known) const { is_doubtful_ |= is_unknown(known); }

 private:
  const std::string driver_;
  std::optional<DeviceFacts> facts_;
  struct Known {
    bool is_read = false;
    std::optional<kube::AttributeValue> value;
    std::string names;  // a text with alternative names, as in cel::Value::with_others(); "" if it has none
  };
  mutable std::vector<Known> known_;  // in the order of known_attributes()
  Unknown unknown_ = Unknown::kIsAbsent;
  mutable const KnownAttribute* unknown_asked_ = nullptr;
  mutable bool is_doubtful_ = false;
};

}  // namespace sliced::policy
