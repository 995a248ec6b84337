#include "kube/objects/selector.h"

#include <algorithm>
#include <optional>

#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

constexpr std::string_view kOperatorNames[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

constexpr size_t kEntriesMax = 16'384;  // terms, requirements and values of one selector
constexpr size_t kValuesShown = 8;      // of a requirement, in texts

enum class Form { kLabels, kNodeExpressions, kNodeFields };

/// Collects problems with their paths.
class SelectorDecoder {
 public:
  explicit SelectorDecoder(FieldProblems& problems) : problems_(problems) {}

  void problem(const Json& at, std::string field, std::string what) {
    problems_.push_back({std::move(field), std::move(what), at.line()});
  }
  /// Returns false, and adds a problem, if the selector is too large.
  bool has_room(const Json& at, const std::string& field) {
    if (++entries_ == kEntriesMax + 1)
      problem(at, field,
              "more than " + std::to_string(kEntriesMax) +
                  " terms, requirements and values are not read; select by a label of the nodes");
    return entries_ <= kEntriesMax;
  }
  bool is_map(const Json& value, const std::string& field) {
    if (value.object() != nullptr) return true;
    problem(value, field, "must be a map, not " + std::string(value.kind_name()));
    return false;
  }
  bool is_list(const Json& value, const std::string& field) {
    if (value.array() != nullptr) return true;
    problem(value, field, "must be a list, not " + std::string(value.kind_name()));
    return false;
  }
  void unknown_key(const Json& at, const std::string& field, std::string_view key,
                   const std::vector<std::string_view>& known) {
    problems_.add([&] {
      const std::string near = nearest(key, known);
      return FieldProblem{(field.empty() ? "" : field + ".") + escaped(key),
                          near.empty() ? "unknown field" : "unknown field, did you mean " + near + "?",
                          at.line()};
    });
  }

  /// {key: value, ...} as one In requirement each.
  void match_labels(const Json& value, const std::string& field, std::vector<Requirement>& out) {
    if (value.is_null() || !is_map(value, field)) return;
    for (const auto& [key, text] : *value.object()) {
      if (!has_room(text, field)) return;
      const std::string path = field.empty() ? escaped(key) : field + "[" + escaped(key) + "]";
      if (!is_label_key(key)) problem(text, path, in_quotes(key) + " is not a label key");
      if (text.string() == nullptr) {
        problem(text, path, "must be a string, not " + std::string(text.kind_name()) + remedy(text));
        continue;
      }
      if (!is_label_value(*text.string()))
        problem(text, path, in_quotes(*text.string()) + " is not a label value");
      out.push_back({key, Operator::kIn, {*text.string()}});
    }
  }

  void match_list(const Json& value, const std::string& field, Form form, std::vector<Requirement>& out) {
    if (value.is_null() || !is_list(value, field)) return;
    size_t index = 0;
    for (const auto& item : *value.array()) {
      if (!has_room(item, field)) return;
      if (auto one = requirement(item, field + "[" + std::to_string(index++) + "]", form))
        out.push_back(std::move(*one));
    }
  }

 private:
  static std::string remedy(const Json& value) {
    return value.array() != nullptr || value.object() != nullptr ? "" : "; put it in quotes";
  }

  std::optional<Requirement> requirement(const Json& value, const std::string& field, Form form) {
    if (!is_map(value, field)) return std::nullopt;
    Requirement out;
    bool have_operator = false;
    for (const auto& [key, member] : *value.object()) {
      if (key == "key") {
        read_key(member, field + ".key", form, out);
      } else if (key == "operator") {
        have_operator = read_operator(member, field + ".operator", form, out);
      } else if (key == "values") {
        read_values(member, field + ".values", out);
      } else {
        unknown_key(member, field, key, {"key", "operator", "values"});
      }
    }
    if (value.find("key") == nullptr) problem(value, field + ".key", "is missing");
    if (value.find("operator") == nullptr) problem(value, field + ".operator", "is missing");
    if (!have_operator) return std::nullopt;
    check_values(value, field + ".values", form, out);
    return out;
  }

  void read_key(const Json& value, const std::string& field, Form form, Requirement& out) {
    const auto* text = value.string();
    if (text == nullptr)
      return problem(value, field, "must be a string, not " + std::string(value.kind_name()));
    out.key = *text;
    if (form == Form::kNodeFields) {
      if (*text != "metadata.name")
        problem(value, field, in_quotes(*text) + ": only metadata.name can be matched");
    } else if (!is_label_key(*text)) {
      problem(value, field, in_quotes(*text) + " is not a label key");
    }
  }

  bool read_operator(const Json& value, const std::string& field, Form form, Requirement& out) {
    const size_t known = form == Form::kNodeExpressions ? 6 : form == Form::kLabels ? 4 : 2;
    const auto* text = value.string();
    const auto* end = kOperatorNames + known;
    const auto* found = text == nullptr ? end : std::find(kOperatorNames, end, *text);
    if (found == end) {
      std::string expected_names;
      for (const auto* name = kOperatorNames; name != end; ++name)
        expected_names += (expected_names.empty() ? "" : ", ") + std::string(*name);
      problem(value, field,
              (text == nullptr ? std::string(value.kind_name()) : in_quotes(*text)) + ": expected one of " +
                  expected_names);
      return false;
    }
    out.op = static_cast<Operator>(found - kOperatorNames);
    return true;
  }

  void read_values(const Json& value, const std::string& field, Requirement& out) {
    if (value.is_null() || !is_list(value, field)) return;
    size_t index = 0;
    for (const auto& item : *value.array()) {
      if (!has_room(item, field)) return;
      const std::string path = field + "[" + std::to_string(index++) + "]";
      if (item.string() == nullptr) {
        problem(item, path, "must be a string, not " + std::string(item.kind_name()) + remedy(item));
        continue;
      }
      out.values.push_back(*item.string());
    }
  }

  void check_values(const Json& value, const std::string& field, Form form, const Requirement& out) {
    const std::string name(kOperatorNames[static_cast<size_t>(out.op)]);
    const Json* values = value.find("values");
    const Json& at = values == nullptr ? value : *values;
    switch (out.op) {
      case Operator::kIn:
      case Operator::kNotIn:
        if (out.values.empty()) return problem(at, field, "must not be empty for " + name);
        if (form == Form::kNodeFields) {
          if (out.values.size() != 1) problem(at, field, "must be exactly one value for a field");
          return;
        }
        for (const auto& text : out.values) {
          if (!is_label_value(text)) problem(at, field, in_quotes(text) + " is not a label value");
        }
        return;
      case Operator::kExists:
      case Operator::kDoesNotExist:
        if (!out.values.empty()) problem(at, field, "must be empty for " + name);
        return;
      case Operator::kGt:
      case Operator::kLt:
        if (out.values.size() != 1 || !parse_int(out.values[0]))
          problem(at, field, "must be one whole number for " + name);
    }
  }

  FieldProblems& problems_;
  size_t entries_ = 0;
};

constexpr std::string_view kLabelForm[] = {"matchLabels", "matchExpressions"};

bool is_label_form(const Json& value) {
  return value.find(kLabelForm[0]) != nullptr || value.find(kLabelForm[1]) != nullptr;
}

void decode_label_form(const Json& value, SelectorDecoder& decoder, std::vector<Requirement>& out) {
  for (const auto& [key, member] : *value.object()) {
    if (key == "matchLabels") {
      decoder.match_labels(member, key, out);
    } else if (key == "matchExpressions") {
      decoder.match_list(member, key, Form::kLabels, out);
    } else {
      decoder.unknown_key(member, "", key, {"matchLabels", "matchExpressions"});
    }
  }
}

NodeSelectorTerm decode_term(const Json& value, const std::string& field, SelectorDecoder& decoder) {
  NodeSelectorTerm term;
  if (!decoder.is_map(value, field)) return term;
  for (const auto& [key, member] : *value.object()) {
    if (key == "matchExpressions") {
      decoder.match_list(member, field + "." + key, Form::kNodeExpressions, term.match_expressions);
    } else if (key == "matchFields") {
      decoder.match_list(member, field + "." + key, Form::kNodeFields, term.match_fields);
    } else {
      decoder.unknown_key(member, field, key, {"matchExpressions", "matchFields"});
    }
  }
  return term;
}

NodeSelector decode_terms(const Json& value, SelectorDecoder& decoder) {
  NodeSelector selector{false, {}};
  for (const auto& [key, member] : *value.object()) {
    if (key != "nodeSelectorTerms") {
      decoder.unknown_key(member, "", key, {"nodeSelectorTerms"});
      continue;
    }
    if (member.is_null() || !decoder.is_list(member, key)) continue;
    size_t index = 0;
    for (const auto& item : *member.array()) {
      if (!decoder.has_room(item, key)) break;
      selector.terms.push_back(decode_term(item, key + "[" + std::to_string(index++) + "]", decoder));
    }
  }
  return selector;
}

bool allows(const Requirement& requirement, const std::string* found) {
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *found) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::kIn:
      return found != nullptr && listed();
    case Operator::kNotIn:
      return found == nullptr || !listed();
    case Operator::kExists:
      return found != nullptr;
    case Operator::kDoesNotExist:
      return found == nullptr;
    case Operator::kGt:
    case Operator::kLt:
      break;
  }
  if (found == nullptr || requirement.values.size() != 1) return false;
  const auto have = parse_int(*found), limit = parse_int(requirement.values[0]);
  if (!have || !limit) return false;
  return requirement.op == Operator::kGt ? *have > *limit : *have < *limit;
}

const std::string* label(const Labels& labels, const std::string& key) {
  const auto at = labels.find(key);
  return at == labels.end() ? nullptr : &at->second;
}

std::string expected_by(const Requirement& requirement) {
  std::string out(kOperatorNames[static_cast<size_t>(requirement.op)]);
  if (requirement.op == Operator::kExists || requirement.op == Operator::kDoesNotExist) return out;
  const auto& all = requirement.values;
  std::vector<std::string> shown_values(all.begin(),
                                        all.begin() + static_cast<long>(std::min(all.size(), kValuesShown)));
  if (all.size() > kValuesShown) shown_values.push_back(and_more(all.size() - kValuesShown, "value"));
  if (requirement.op == Operator::kGt || requirement.op == Operator::kLt)
    return out + " " + join(shown_values, ", ");
  return out + " [" + join(shown_values, ", ") + "]";
}

/// Returns the first requirement of the term that fails; matched if none does.
NodeMatch match_term(const NodeSelectorTerm& term, const NodeView& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) {
    return {false, "nodeSelectorTerms", "", "a term that is not empty (an empty term matches nothing)"};
  }
  for (const auto& requirement : term.match_expressions) {
    const std::string* found = label(node.labels, requirement.key);
    if (allows(requirement, found)) continue;
    return {false, "labels[" + requirement.key + "]", found == nullptr ? "" : *found,
            expected_by(requirement)};
  }
  for (const auto& requirement : term.match_fields) {
    if (requirement.key == "metadata.name" && allows(requirement, &node.name)) continue;
    return {false, requirement.key, node.name, expected_by(requirement)};
  }
  return {true, "", "", ""};
}

bool is_name_part(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

NodeSelector decode_node_selector(const Json& value, FieldProblems& problems) {
  SelectorDecoder decoder(problems);
  if (value.is_null()) return {};
  if (!decoder.is_map(value, "")) return {false, {}};
  if (value.find("nodeSelectorTerms") != nullptr) return decode_terms(value, decoder);
  NodeSelectorTerm term;
  if (is_label_form(value)) {
    decode_label_form(value, decoder, term.match_expressions);
  } else {
    decoder.match_labels(value, "", term.match_expressions);
  }
  if (term.match_expressions.empty()) return {};
  return {false, {std::move(term)}};
}

LabelSelector decode_label_selector(const Json& value, FieldProblems& problems) {
  SelectorDecoder decoder(problems);
  LabelSelector selector;
  if (!value.is_null() && decoder.is_map(value, "")) decode_label_form(value, decoder, selector.requirements);
  return selector;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const Requirement& one) { return allows(one, label(labels, one.key)); });
}

NodeMatch match_node(const NodeSelector& selector, const NodeView& node) {
  if (selector.everything) return {true, "", "", ""};
  NodeMatch last{false, "nodeSelectorTerms", "", "at least one term (none matches nothing)"};
  for (const auto& term : selector.terms) {
    last = match_term(term, node);
    if (last.matched) break;
  }
  return last;
}

bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name_part(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_name_part(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) { return text.empty() || is_name_part(text); }

std::string describe(const Requirement& requirement) {
  return requirement.key + " " + expected_by(requirement);
}

}  // namespace sliced::kube
