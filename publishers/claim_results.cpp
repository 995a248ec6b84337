#include "publishers/claim_results.h"

#include "kube/objects/json_scanner.h"

namespace sliced::publishers {

Result<kube::Json> results_of_claim(std::string_view claim) {
  const auto metadata = kube::find_raw(claim, {"metadata"});
  if (!metadata || metadata->empty()) return Error{Errc::kInvalid, "it has no metadata"};
  const auto results = kube::find_raw(claim, {"status", "allocation", "devices", "results"});
  if (!results) return results.error();
  return results->empty() ? kube::Json() : kube::decode_json(*results);
}

std::string_view text_of_metadata(std::string_view claim, const char* key) {
  const auto literal = kube::find_raw(claim, {"metadata", key});
  if (!literal || literal->size() < 2 || literal->front() != '"') return "";
  const std::string_view text = literal->substr(1, literal->size() - 2);
  return text.find('\\') == std::string_view::npos ? text : "";
}

}  // namespace sliced::publishers
