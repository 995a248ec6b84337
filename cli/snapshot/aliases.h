#pragma once
// Anonymizes a snapshot: MAC and InfiniBand addresses and GUIDs, ids of switches, the boot id, names of
// nodes. Each gets the same alias everywhere, including expressions of policies. Pure. The first three bytes
// of addresses are kept, which identify the vendor; addresses of zeros and of ones identify no device and are
// kept. Addresses with a common prefix get aliases with a common prefix, so that
// mac.startsWith("00:00:5e:00:53") selects the same devices. Interface names, node labels and PCI addresses
// are not replaced. An alias depends only on the addresses before it: the same texts in the same order have
// the same aliases.
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace sliced::snapshot {

/// The kind of a text. In names of the kernel and of API fields a short word ("net", "metadata") is not
/// private: a word is replaced there only if it contains '-' or '.', or might be an address.
enum class Place { kText, kNames };

/// Texts are unescaped; escapes of another program within one (\n) are recognized. One object for all texts
/// of a snapshot: note() is called for each before the first replaced().
class Aliases {
 public:
  /// Adds a word that is replaced between characters other than letters and digits, ignoring case; longer
  /// words take precedence. A word of less than six characters that might be a number (letters a to f and
  /// digits) is only replaced if it is the whole text.
  void add_word(const std::string& word, const std::string& alias);
  /// Adds hexadecimal digits without separators, as in switch ids and GUIDs; replaced by the same number of
  /// digits.
  void add_digits(const std::string& digits);
  /// Finds addresses, which are then replaced in any spelling: aa:bb:cc:dd:ee:ff, AA-BB-.., aabb.cc.., and
  /// aabbccddeeff, also within a word (enxaabbccddeeff).
  void note(std::string_view text);
  /// Returns the text with aliases for everything from add_word(), add_digits() and note(), and for addresses
  /// by their form. A new address gets its alias now.
  std::string replaced(std::string_view text, Place place = Place::kText);

 private:
  struct Word {
    std::string alias;
    Place place;  // kNames: in both kinds
  };
  using Words = std::map<std::string, Word, std::less<>>;  // by text in lower case
  void add(const std::string& word, const std::string& alias, Place place);
  /// Returns the longest word at the beginning of a text; nullptr if there is none.
  const Words::value_type* word_at(std::string_view rest, Place place) const;
  /// Returns the alias in the spelling of the address.
  std::string alias_of(std::string_view address);
  void replace_run(std::string_view run, std::string& out);

  std::map<size_t, Words, std::greater<>> words_;  // by length: a policy may name thousands of nodes
  std::map<std::string, std::string> numbers_;     // replaced only as whole texts
  std::set<std::string> addresses_;                // digits, in lower case
  std::map<std::string, size_t> siblings_;  // by prefix of addresses: number of following digits so far
  std::map<std::string, char> nibbles_;     // by prefix: the alias of its last digit
  size_t digits_ = 0;
};

}  // namespace sliced::snapshot
