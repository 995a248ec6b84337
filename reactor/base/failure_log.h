#pragma once
// Suppresses repeated log messages of operations that are retried.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {

/// Failures of many retried operations, by key: logged when they start, when the error changes, and when they
/// end. Memory: keys_max keys; the key that failed least recently is dropped for a new one.
class FailureLog {
 public:
  explicit FailureLog(size_t keys_max = 1'024) : keys_max_(keys_max) {}

  /// Counts a failure. Returns true if the error must be logged: it is not among the last 8 errors of the
  /// key, so that two alternating errors are two messages.
  bool is_new(const std::string& key, std::string_view text) {
    if (!failing_.contains(key) && failing_.size() >= keys_max_)
      failing_.erase(std::min_element(failing_.begin(), failing_.end(), [](const auto& a, const auto& b) {
        return a.second.last < b.second.last;
      }));
    Failing& one = failing_[key];
    ++one.count;
    one.last = ++now_;
    const uint64_t hash = stable_hash(text);
    if (std::find(one.logged.begin(), one.logged.end(), hash) != one.logged.end()) return false;
    if (one.logged.size() >= kTextsMax) one.logged.erase(one.logged.begin());
    one.logged.push_back(hash);
    return true;
  }
  /// The operation succeeded. Returns the number of failures before.
  size_t end(const std::string& key) {
    const auto at = failing_.find(key);
    if (at == failing_.end()) return 0;
    const size_t count = at->second.count;
    failing_.erase(at);
    return count;
  }

 private:
  static constexpr size_t kTextsMax = 8;
  struct Failing {
    size_t count = 0;
    uint64_t last = 0;
    std::vector<uint64_t> logged;  // as stable_hash()
  };
  const size_t keys_max_;
  uint64_t now_ = 0;
  std::map<std::string, Failing> failing_;
};

}  // namespace sliced
