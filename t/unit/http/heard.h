#pragma once
// A receiver that records its calls.
#include <functional>
#include <optional>
#include <string>

#include "http/connection.h"

namespace sliced::http {

struct Heard final : Receiver {
  int heads = 0, drains = 0, ends = 0;
  bool was_hurried = false;
  Head head;
  std::string body;
  Headers trailers;
  std::optional<Loss> loss;
  std::function<void()> then = [] {};  // after each call

  bool is_over() const { return ends > 0 || loss; }
  std::string what() const { return loss ? loss->error.what : ""; }

  void on_head(const Head& told) override {
    ++heads;
    head = told;
    then();
  }
  void on_body(std::string_view bytes) override {
    body += bytes;
    then();
  }
  void on_trailers(const Headers& told) override {
    trailers = told;
    then();
  }
  void on_end() override {
    ++ends;
    then();
  }
  void on_loss(const Loss& told) override {
    loss = told;
    then();
  }
  void on_drain(bool at_once) override {
    ++drains;
    was_hurried |= at_once;
  }
};

inline OutgoingRequestPtr outgoing(Request request) {
  return *prepare_request({.tls = true, .host = "kube", .port = 6443, .base_path = ""}, std::move(request));
}
inline OutgoingRequestPtr get_request() { return outgoing({.method = "GET", .path = "/x"}); }

}  // namespace sliced::http
