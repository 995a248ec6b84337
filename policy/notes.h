#pragma once
// The reasons for which a decision drops or withholds something, limited in number: devices times attributes
// exceed the memory and a log.
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reactor/base/first_few.h"

namespace sliced::policy {

/// Stores the first kKeptMax distinct notes in byte order, and counts the others. Each note is cut to the
/// length of a message (reactor/base/first_few.h), so that the size is bounded. Equal sets of a few notes are
/// equal values in any order of addition, so that the log reports them once while they last.
/// Threads: a value. One decision writes it; others read it afterwards.
class Notes {
 public:
  static constexpr size_t kKeptMax = 100;

  /// A duplicate of a stored note is ignored; other notes beyond the limit are counted each time.
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
  /// Adds the notes of `other`, and its count.
  void add(const Notes& other) {
    for (const std::string& note : other) add(note);
    more_ += other.more_;
  }

  bool empty() const { return kept_.empty(); }
  using const_iterator = std::set<std::string>::const_iterator;
  const_iterator begin() const { return kept_.begin(); }
  const_iterator end() const { return kept_.end(); }
  /// May count duplicates among the notes that are not stored.
  size_t size() const { return kept_.size() + more_; }
  size_t more() const { return more_; }  // notes that are not stored

 private:
  // In byte order, the order of the log; at most kKeptMax of kMessageBytesMax each.
  std::set<std::string> kept_;
  size_t more_ = 0;
};

}  // namespace sliced::policy
