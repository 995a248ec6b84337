#pragma once
// A List of any objects, as `kubectl get -o json` prints it.
#include <utility>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::kube {

/// {"kind":"List","apiVersion":"v1","items":[...]}
inline Json list_of(std::vector<Json> items) {
  Json out = Json::Object{};
  out.set("apiVersion", "v1");
  out.set("kind", "List");
  out.set("items", Json::Array(std::move(items)));
  return out;
}

}  // namespace sliced::kube
