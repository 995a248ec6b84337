#include "t/sim/kube_allocator.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace sliced::sim {

using kube::Json;

Json AskedClaim::json() const {
  Json out = Json::Object{};
  if (is_of_class())
    out = Json::Object{{"driver", driver}, {"shared", is_shared}, {"count", count}};
  else {
    Json::Array all;
    for (const std::string& entry : entries) all.emplace_back(entry);
    out.set("entries", std::move(all));
  }
  if (!capacities.empty()) {
    Json amounts = Json::Object{};
    for (const auto& [name, amount] : capacities) amounts.set(name, std::to_string(amount));
    out.set("capacities", std::move(amounts));
  }
  return out;
}

std::string AskedClaim::text() const {
  std::string out = is_of_class() ? (count == 0 ? "all" : std::to_string(count)) +
                                        (is_shared ? " shared" : " exclusive") + " devices of " + driver
                                  : "";
  for (const std::string& entry : entries) out += (out.empty() ? "" : " and ") + entry;
  for (const auto& [name, amount] : capacities) out += " with " + std::to_string(amount) + " of " + name;
  return out;
}

std::vector<bool> KubeAllocator::ask(Question question) {
  Json::Array claims;
  for (const AskedClaim& claim : question.claims) claims.push_back(claim.json());
  Json out = Json::Object{{"counters", question.has_counters}, {"shared", question.has_shared}};
  std::string slices = kube::encode_json(Json(std::move(question.slices)));
  out.set("allocated", std::move(question.results));
  out.set("claims", std::move(claims));
  if (slices != std::exchange(told_, slices)) std::printf("slices %s\n", slices.c_str());
  std::printf("? %s\n", kube::encode_json(out).c_str());
  std::fflush(stdout);
  std::string line;
  const bool is_answered = static_cast<bool>(std::getline(std::cin, line));
  const Result<Json> answer = kube::decode_json(line);
  if (!is_answered || !answer.ok() || answer->array() == nullptr ||
      answer->array()->size() != question.claims.size()) {
    std::fprintf(stderr, "no answer of Kubernetes' allocator: %s\n", line.c_str());
    std::exit(3);
  }
  std::vector<bool> given;
  for (const Json& one : *answer->array()) given.push_back(one == Json(true));
  return given;
}

}  // namespace sliced::sim
