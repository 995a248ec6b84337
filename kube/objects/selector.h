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

/// kGt and kLt: for node selectors only, over integers.
enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

/// One condition on a label. values: none for kExists and kDoesNotExist, one for kGt and kLt. Keys and values
/// are valid if decoding added no problem.
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

/// A decoded nodeSelector. Terms are ORed; without terms nothing matches. terms is empty while everything is
/// true.
struct NodeSelector {
  bool everything = true;  // the field is absent, or an empty map of a label form
  std::vector<NodeSelectorTerm> terms;
  bool operator==(const NodeSelector&) const = default;
};

/// The node as selectors read it.
struct NodeView {
  std::string name;
  Labels labels;
  bool operator==(const NodeView&) const = default;
};

/// An invalid field: path below the decoded value, and reason.
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
/// At most as many as FirstFew keeps; others are counted.
using FieldProblems = FirstFew<FieldProblem>;

/// Adds the first problems. With problems the selector must not be used to offer anything. The keys determine
/// the form: nodeSelectorTerms, matchLabels or matchExpressions, otherwise a plain map of labels. At most
/// 16,384 terms, requirements and values of one selector are read; more are a problem.
NodeSelector decode_node_selector(const Json& value, FieldProblems& problems);
LabelSelector decode_label_selector(const Json& value, FieldProblems& problems);

/// As in apimachinery: for an absent label only kNotIn and kDoesNotExist hold.
bool matches(const LabelSelector& selector, const Labels& labels);

/// Why a node matches or not: the requirement that failed, with the found ("" if absent) and the expected
/// value.
struct NodeMatch {
  bool matched = false;
  std::string field, found, wanted;  // of the last term that failed
  bool operator==(const NodeMatch&) const = default;
};
/// Evaluates terms in order; the first that holds decides. Pure. As in core/v1, a term without requirements
/// matches nothing, and Gt and Lt of a non-integer are false.
NodeMatch match_node(const NodeSelector& selector, const NodeView& node);

/// "[prefix/]name": name of at most 63 bytes [A-Za-z0-9._-], prefix a DNS subdomain (labels, annotations,
/// taints).
bool is_label_key(std::string_view text);
/// "" or at most 63 bytes [A-Za-z0-9._-] that begin and end with a letter or digit.
bool is_label_value(std::string_view text);

std::string describe(const Requirement& requirement);  // "zone In [a, b]"

}  // namespace sliced::kube
