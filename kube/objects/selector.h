#pragma once
// Label and node selectors as the policies use them: a plain map, a LabelSelector (matchLabels,
// matchExpressions), or a core NodeSelector (nodeSelectorTerms with matchExpressions and matchFields, Gt and
// Lt).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/first_few.h"
#include "reactor/base/result.h"

namespace sliced::kube {

using Labels = std::map<std::string, std::string>;

/// kGt and kLt: of node selectors alone, over integers.
enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

/// One condition on one label. values: none for kExists and kDoesNotExist, one for kGt and kLt.
/// Keys and values are valid by the API's rules after a decoding without problems.
struct Requirement {
  std::string key;
  Operator op = Operator::kIn;
  std::vector<std::string> values;
  bool operator==(const Requirement&) const = default;
};

struct NodeSelectorTerm {  // AND of all; a term with nothing in it matches nothing
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;  // only metadata.name exists
  bool operator==(const NodeSelectorTerm&) const = default;
};

struct LabelSelector {  // AND of all; an empty selector matches everything (meta/v1)
  std::vector<Requirement> requirements;
  bool operator==(const LabelSelector&) const = default;
};

/// What a policy's nodeSelector means after decoding. Terms are ORed; no terms at all matches nothing.
/// everything and terms: only one of them says anything; terms is empty while everything is true.
struct NodeSelector {
  bool everything = true;  // the field is absent, or an empty map in one of the label forms
  std::vector<NodeSelectorTerm> terms;
  bool operator==(const NodeSelector&) const = default;
};

/// What selectors see of a node.
struct NodeView {
  std::string name;
  Labels labels;
  bool operator==(const NodeView&) const = default;
};

/// A field that could not be understood: path below the value that was decoded, and why.
struct FieldProblem {
  std::string field;  // "nodeSelectorTerms[0].matchExpressions[1].operator"
  std::string what;
  int line = 0;
  bool operator==(const FieldProblem&) const = default;
};
inline void cut_message(FieldProblem& problem) {
  sliced::cut_message(problem.field);
  sliced::cut_message(problem.what);
}
/// As many as FirstFew keeps; the others are counted.
using FieldProblems = FirstFew<FieldProblem>;

/// The first problems, not one alone. With problems the returned selector must not be used to offer anything.
/// Which of the three forms it is, the keys say: nodeSelectorTerms, matchLabels or matchExpressions, else a
/// plain map of labels.
/// At most 16,384 terms, requirements and values of one selector are read; one more is a problem.
NodeSelector decode_node_selector(const Json& value, FieldProblems& problems);
LabelSelector decode_label_selector(const Json& value, FieldProblems& problems);

/// As apimachinery has it: a requirement on a label that is absent holds for kNotIn and kDoesNotExist
/// alone.
bool matches(const LabelSelector& selector, const Labels& labels);

/// Why a node matched or not: the requirement that said no, with the value found ("" when absent) and wanted.
struct NodeMatch {
  bool matched = false;
  std::string field, found, wanted;  // of the last term that failed
  bool operator==(const NodeMatch&) const = default;
};
/// Terms in their order; the first that holds decides.
/// Pure; nothing of a selector is compiled, for there is one node.
/// A term without requirements matches nothing, as in core/v1; Gt and Lt of what is no integer are false.
NodeMatch match_node(const NodeSelector& selector, const NodeView& node);

/// "[prefix/]name": name of at most 63 bytes [A-Za-z0-9._-], prefix a DNS subdomain (labels, annotations,
/// taints).
bool is_label_key(std::string_view text);
/// "" or at most 63 bytes [A-Za-z0-9._-] that begin and end with a letter or digit.
bool is_label_value(std::string_view text);

std::string describe(const Requirement& requirement);  // "zone In [a, b]"

}  // namespace sliced::kube
