// Node and label selectors, against a node.
#include "kube/objects/selector.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::selector_target {

FUZZ_TARGET(selector) {
  fuzz::Input input(data, size);
  const kube::NodeView node = {"node-a", {{"zone", "a"}, {"slots", "4"}}};
  for (const kube::Json& document : fuzz::documents_of(input.rest)) {
    kube::FieldProblems problems;
    const kube::NodeSelector selector = kube::decode_node_selector(document, problems);
    fuzz::check_problems(problems);
    const kube::NodeMatch match = kube::match_node(selector, node);
    fuzz::must(match == kube::match_node(selector, node), "a match is a function of its inputs");
    if (selector.everything) fuzz::must(match.matched, "everything is everything");
    if (!selector.everything && selector.terms.empty()) fuzz::must(!match.matched, "no terms match nothing");
    problems.clear();
    const kube::LabelSelector labels = kube::decode_label_selector(document, problems);
    fuzz::check_problems(problems);
    if (labels.requirements.empty())
      fuzz::must(kube::matches(labels, node.labels), "an empty selector matches");
    for (const auto& requirement : labels.requirements)
      fuzz::check_text(escaped(kube::describe(requirement), 1024));
  }
  return 0;
}

}  // namespace sliced::fuzz::selector_target
