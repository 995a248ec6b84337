#include "policy/exposure/exclude_record.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr size_t kFingerprintsMax = 64;
constexpr int kExcludeDigits = 12;

std::string fingerprint(std::string_view text) { return hex(stable_hash(text), kExcludeDigits); }

}  // namespace

std::string exclude_record(const std::vector<std::string>& selectors) {
  std::vector<std::string> fingerprints;
  for (const std::string& selector : selectors) fingerprints.push_back(fingerprint(selector));
  std::sort(fingerprints.begin(), fingerprints.end());
  fingerprints.erase(std::unique(fingerprints.begin(), fingerprints.end()), fingerprints.end());
  const std::string all = join(fingerprints, ",");
  return fingerprints.size() > kFingerprintsMax ? "all-" + fingerprint(all) : all;
}

bool is_recorded(std::string_view record, std::string_view now, const std::string& selector) {
  if (record.empty()) return false;
  if (record == now) return true;
  const auto all = split(record, ',');
  return std::find(all.begin(), all.end(), fingerprint(selector)) != all.end();
}

}  // namespace sliced::policy
