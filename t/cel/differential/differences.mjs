// Where @bufbuild/cel answers otherwise for a reason that is its own: rules, not cases. What one applies to is left out,
// and counted. In all of them we answer as Kubernetes does, which ../upstream holds us to. What could be told from the
// production alone (texts that are no number, of which it makes 0 and NaN; the text of a double; milliseconds where int
// makes a timestamp; the limit of split(), whose rest it cuts off) is in ../grammar/selectors.txt instead.
const written = (pattern) => (expression) => pattern.test(expression);
const all = (...patterns) => (expression) => patterns.every((pattern) => pattern.test(expression));

export const differences = [
  { why: "fractions of a second are written in groups of three digits, not as short as can be",
    applies: all(/\bstring\(/, /1\.5ms|00\.123456789/) },
  { why: "a timestamp is written in UTC, not with its offset", applies: all(/\bstring\(/, /59\+02:00"/) },
  { why: "milliseconds are rounded, not cut", applies: written(/getMilliseconds/) },
  { why: "getDate() in a zone is off by one", applies: written(/getDate\("/) },
  { why: "an empty text is replaced once or for ever, not before each character", applies: written(/\.replace\(/) },
  { why: "the largest uint divided by one overflows", applies: all(/\/ /, /18446744073709551615u|\bu\b/) },
  { why: "the smallest int has a remainder by -1", applies: all(/ % /, /-9223372036854775808/) },
  { why: "an int is held against a double exactly, not as a double",
    applies: all(/\bdyn\(/, /\b[ju]\b|922337203685477580|18446744073709551615/) },
  { why: "NaN is not an error where an order is wanted", applies: all(/ \/ /, / [<>]=? /) },
  { why: "nothing is in an empty list, also what is an error", applies: written(/\bin \[\]/) },
  { why: "-- before a number is two signs of it, not none", applies: written(/--9223372036854775808/) },
];
