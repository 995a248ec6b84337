#pragma once
// What a decision drops or holds back, and why: as much of it as somebody reads. Devices times attributes are
// more than memory or a log has room for.
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reactor/base/first_few.h"

namespace sliced::policy {

/// The first ones that were added, each once, in the order of their text; the others are counted, as often as
/// they were added. A note is cut to the length of a message (reactor/base/first_few.h), so that all of them
/// together are bounded.
/// Two decisions that drop the same few things have equal notes, whatever the order in which they found them:
/// the log says them once while they stay.
/// Threads: a value; made by one decision, read by others once it is done.
class Notes {
 public:
  static constexpr size_t kKeptMax = 100;

  /// One that is kept already is not counted again; one that is not kept is, each time.
  void add(std::string note) {
    sliced::cut_message(note);
    if (kept_.contains(note)) return;
    if (kept_.size() < kKeptMax)
      kept_.insert(std::move(note));
    else
      ++more_;
  }
  void add(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) add(note);
  }
  /// As if all that `other` was given had been added here, those that it did not keep as a count.
  void add(const Notes& other) {
    for (const std::string& note : other) add(note);
    more_ += other.more_;
  }

  bool empty() const { return kept_.empty(); }
  using const_iterator = std::set<std::string>::const_iterator;
  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  /// Those that are not kept may be the same ones several times.
  size_t size() const { return kept_.size() + more_; }
  size_t more() const { return more_; }  // that are not kept

 private:
  // In byte order, which is the order of the log; at most kKeptMax of kMessageBytesMax each.
  std::set<std::string> kept_;
  size_t more_ = 0;
};

}  // namespace sliced::policy
