#include "daemon/own_node.h"

#include <utility>

namespace sliced::daemon {

OwnNode::OwnNode(Log& log, const config::Options& options)
    : log_(log),
      name_(options.node_name),
      labels_(options.node_labels),
      is_required_(config::has_api_server(options.cluster)) {}

bool OwnNode::apply(const Event& event) {
  std::optional<watchers::NodeFacts> now;
  const auto take = [&](const Item& item) { now = item.value ? std::optional(*item.value) : facts_; };
  if (const auto* changed = std::get_if<Changed<Item>>(&event))
    take(changed->now);
  else if (const auto* list = std::get_if<Relisted<Item>>(&event))
    for (const Item& item : list->all) take(item);
  if (now == facts_) return false;
  if (facts_ && !now)
    log_.warning("Node object deleted: nothing is written until it exists again", {{"node", name_}});
  if (facts_ && now && facts_->uid != now->uid)
    log_.info("Node object created again", {{"node", name_}, {"uid", now->uid}});
  facts_ = std::move(now);
  view_.reset();
  return true;
}

const kube::NodeView& OwnNode::view() const {
  if (!view_) view_ = facts_ ? kube::NodeView{facts_->name, facts_->labels} : kube::NodeView{name_, labels_};
  return *view_;
}

std::string OwnNode::missing() const { return "node " + name_ + ": there is no such Node object"; }

}  // namespace sliced::daemon
