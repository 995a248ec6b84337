#pragma once
// YAML as Kubernetes reads it: YAML 1.1 scalars (yes/no/on/off are booleans), converted to JSON values with
// line numbers.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/first_few.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// A syntax error; documents before it are valid.
struct YamlProblem {
  int line = 0;  // 1-based
  std::string what;
};
inline void cut_message(YamlProblem& problem) { sliced::cut_message(problem.what); }

struct YamlDocuments {
  std::vector<Json> documents;  // empty documents are left out
  FirstFew<YamlProblem> problems;
};

/// Decodes a stream of documents, also JSON. Limits: size, depth, nodes and alias expansion (JsonLimits).
/// Duplicate keys, non-core tags and complex keys are problems. Never fails as a whole, but reads nothing
/// after a syntax error, because libyaml cannot resume.
YamlDocuments decode_yaml(std::string_view text, const JsonLimits& limits = {});

/// Encodes one document in block style; strings are quoted wherever YAML 1.1 or 1.2 would read another type.
/// decode_yaml() returns the same value, except line numbers.
std::string encode_yaml(const Json& value);

}  // namespace sliced::kube
