#include "t/sim/kube_allocator.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace sliced::sim {

using kube::Json;

std::vector<bool> KubeAllocator::ask(Question question) {
  Json::Array claims;
  for (const auto& entries : question.claims) {
    Json::Array one;
    for (const std::string& entry : entries) one.emplace_back(entry);
    claims.emplace_back(std::move(one));
  }
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
