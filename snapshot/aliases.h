#pragma once
// What a snapshot need not tell: MAC and InfiniBand addresses and GUIDs, ids of switches, the boot's id, names of nodes.
// Each gets an alias that is the same wherever it stands, also inside expressions of policies. Pure.
//
// Of addresses the first three bytes stay, which name the vendor; addresses of zeros and of ones mean no device and stay whole.
// Nothing else is replaced: not interface names, labels of nodes, nor PCI addresses.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sliced::snapshot {

/// Aliases are given in the order in which texts are shown.
/// One object for all texts of a snapshot.
class Aliases {
 public:
  /// A word that is to be replaced wherever it stands between characters that are no letters and digits; of words of
  /// which one is in another the longer first. One without any letter but a to f is none: it might be a number.
  void add_word(const std::string& word, std::string alias);
  /// Hexadecimal digits without separators, as switch ids and GUIDs have them: replaced by as many others.
  void add_digits(const std::string& digits);
  std::string replaced(std::string_view text);

 private:
  void add(const std::string& word, std::string alias);
  std::string address_alias(std::string_view address);
  std::vector<std::pair<std::string, std::string>> words_;  // longest first
  std::map<std::string, std::string> addresses_;            // in lower case
  size_t digits_ = 0;
};

}  // namespace sliced::snapshot
