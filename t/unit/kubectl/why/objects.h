#pragma once
// Objects of a small cluster, as YAML.
#include <gtest/gtest.h>

#include <string>

#include "kube/objects/yaml.h"
#include "kubectl/why/why.h"

namespace sliced::why {

inline kube::Json object_of(const std::string& yaml) {
  const auto read = kube::decode_yaml(yaml);
  EXPECT_TRUE(read.problems.empty()) << yaml;
  return read.documents.empty() ? kube::Json() : read.documents.front();
}

inline void add(Cluster& cluster, const std::string& yaml) {
  const auto read = kube::decode_yaml(yaml);
  EXPECT_TRUE(read.problems.empty()) << yaml;
  for (const kube::Json& object : read.documents) add_object(object, "default", cluster);
  EXPECT_TRUE(cluster.unread.empty()) << cluster.unread.front();
}

inline Pod pod_of(const std::string& spec) {
  const auto pod = decode_pod(object_of("metadata: {name: p, namespace: default}\nspec: " + spec));
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().what);
  return pod ? *pod : Pod{};
}

}  // namespace sliced::why
