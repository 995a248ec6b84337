#pragma once
// YAML as Kubernetes reads it: YAML 1.1 scalars (yes/no/on/off are booleans), turned into JSON values. Lines
// are kept.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/first_few.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// A syntax error of one text; the documents before it are still good.
struct YamlProblem {
  int line = 0;  // 1-based
  std::string what;
};
inline void cut_message(YamlProblem& problem) { sliced::cut_message(problem.what); }

struct YamlDocuments {
  std::vector<Json> documents;  // empty documents are left out
  FirstFew<YamlProblem> problems;
};

/// Decodes a stream of documents. JSON is YAML, so this reads both. Bounded in size, depth, nodes and alias
/// expansion (JsonLimits); duplicate keys, tags other than the core ones and complex keys are problems. Never
/// fails as a whole.
/// Behind a syntax error nothing more is read: libyaml does not find back.
YamlDocuments decode_yaml(std::string_view text, const JsonLimits& limits = {});

/// One document in block style; strings are quoted wherever YAML 1.1 or 1.2 would read something else.
/// What decode_yaml() makes of it is the value again, lines aside.
std::string encode_yaml(const Json& value);

}  // namespace sliced::kube
