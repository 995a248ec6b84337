// Work steps: whatever an expression does ends, and takes steps for what it does. Time is judged by the fuzz
// target `cel` (./dev fuzz cel --time), counts here.
#include <gtest/gtest.h>
#include <pthread.h>

#include <map>
#include <memory>
#include <set>

#include "cel/library.h"
#include "cel/parser.h"
#include "cel/program.h"
#include "cel/published_device.h"
#include "reactor/thread_executor.h"
#include "t/fixture/heap.h"

namespace sliced::cel {
namespace {

const Environment& language() {
  static const Environment it{.is_homogeneous = false, .has_device = false, .requires_bool = false};
  return it;
}

struct Taken {
  uint64_t cost = 0, steps = 0, compile_steps = 0;
  std::string error;
};

Taken taken(const std::string& expression, const Environment& environment = language()) {
  Mistake mistake;
  const auto program = Program::compile(expression, environment, &mistake);
  if (!program) return {0, 0, mistake.steps, "refused: " + program.error().what};
  static const kube::Device kNothing;
  const PublishedDevice device("x", kNothing);
  Evaluator evaluator;
  evaluator.evaluate(*program, {&device, {}});
  return {evaluator.cost(), evaluator.steps(), program->compile_steps(), evaluator.error_text(*program)};
}

std::string repeated(const std::string& text, int times, const std::string& between = "") {
  std::string all;
  for (int i = 0; i < times; ++i) all += (i == 0 ? "" : between) + text;
  return all;
}

// Two values that are equal and have no part in common; each level holds the one below twice.
std::string shared(const std::string& end, const std::string& before, const std::string& after,
                   int levels = 40) {
  std::string text = "cel.bind(a0, [], cel.bind(b0, [], ";
  for (int i = 1; i <= levels; ++i)
    for (const char* name : {"a", "b"}) {
      const std::string below = name + std::to_string(i - 1);
      text += std::string("cel.bind(") + name + std::to_string(i) + "," + before + below + after + below +
              (before == "[" ? "]" : "}") + ",";
    }
  return text + end + std::string(2 * static_cast<size_t>(levels) + 2, ')');
}

// z: a text of 160,000 bytes.
std::string with_long_text(const std::string& end) {
  return "cel.bind(s,'0123456789',cel.bind(t,s+s+s+s+s+s+s+s+s+s,cel.bind(u,t+t+t+t+t+t+t+t+t+t,cel.bind(v,"
         "u+u+u+u+u+u+u+u+u+u,cel.bind(w,v+v+v+v,cel.bind(z,w+w+w+w," +
         end + "))))))";
}
// q: a list of 480 of them.
std::string with_long_texts(const std::string& end) {
  return with_long_text(
      "cel.bind(o,[z,z,z,z,z,z,z,z,z,z],cel.bind(p,o+o+o+o+o+o+o+o,cel.bind(q,p+p+p+p+p+p," + end + ")))");
}

// Each of these held a processor for seconds, or for ever, at a price of some hundreds. Red when a function
// forgets the steps of what it does, or goes on beyond them.
TEST(CelSteps, EndEvaluationsOfExtremeCost) {
  const std::string rows[] = {
      shared("a40 == b40", "[", ","),
      shared("a40 != b40", "[", ","),
      shared("a40 in [b40]", "[", ","),
      shared("[a40].indexOf(b40) == 0", "[", ","),
      shared("[a40].lastIndexOf(b40) == 0", "[", ","),
      shared("[a40, b40].distinct() == []", "[", ","),
      shared("[a40].includes(b40)", "[", ","),
      shared("sets.contains([a40], [b40])", "[", ","),
      shared("sets.equivalent([a40], [b40])", "[", ","),
      shared("sets.intersects([a40], [b40])", "[", ","),
      shared("optional.of(a40) == optional.of(b40)", "[", ","),
      shared("{1: a40} == {1: b40}", "[", ","),
      shared("a40.flatten(100) == []", "[", ","),
      shared("a40 == b40", "{1:", ",2:"),
      "cel.bind(x0,[1]," +
          [] {
            std::string text;
            for (int i = 1; i <= 60; ++i)
              text += "cel.bind(x" + std::to_string(i) + ",[x" + std::to_string(i - 1) + ",x" +
                      std::to_string(i - 1) + "],";
            return text + "x60 == x60" + std::string(61, ')');
          }(),
      with_long_text("lists.range(40000).exists(i, z.charAt(159999) == 'x')"),
      with_long_text("lists.range(40000).exists(i, z.substring(159999) == 'x')"),
      with_long_text("cel.bind(y, z + 'b', cel.bind(x, z + 'a', lists.range(40000).exists(i, x == y)))"),
      with_long_text("cel.bind(y, z + 'b', cel.bind(x, z + 'a', lists.range(40000).exists(i, x in [y])))"),
      with_long_text("lists.range(40000).exists(i, int(z) == 1)"),
      with_long_text("lists.range(40000).exists(i, double(z) == 1.0)"),
      with_long_text("lists.range(40000).exists(i, timestamp(z) == timestamp(0))"),
      with_long_text("lists.range(40000).exists(i, duration(z) == duration('1s'))"),
      with_long_text("lists.range(40000).exists(i, timestamp(0).getHours(z + ':00') == 25)"),
      with_long_text("lists.range(40000).exists(i, ip.isCanonical(z))"),
      with_long_text("lists.range(40000).exists(i, {z: 1, z + 'b': 2} == {'a': 1})"),
      with_long_text("z.findAll('0[0-9]*a|0') == []"),
      with_long_texts("q.sort() == []"),
      with_long_texts("lists.range(40000).exists(i, q.min() == '')"),
      with_long_texts("lists.range(40000).exists(i, !q.isSorted())"),
      with_long_texts("q.sortBy(e, e) == []"),
      with_long_texts("q.transformMap(i, e, e) == q.transformMap(i, e, e + '')"),
      // Patterns that are compiled at run time, and searches with them.
      "lists.range(40000).exists(i, 'a'.matches('\\\\pL' + string(i)))",
      "lists.range(40000).exists(i, 'a'.matches('.{1000}' + string(i)))",
      "lists.range(40000).exists(i, 'a'.matches('(?i)[^\\\\PL\\\\PN]' + string(i)))",
      "lists.range(40000).exists(i, 'a'.matches('" + repeated("x{0,1000}y", 30) + "' + string(i)))",
      "lists.range(40000).exists(i, '" + repeated("ab", 30) + "'.matches('(?:(?:a|b){0,40}){1,20}c'))",
      "lists.range(40000).exists(i, '" + repeated("abaab", 20) + "'.findAll('a|[ab]{40}c') == [])",
      "lists.range(40000).exists(i, '" + repeated("abaab", 20) +
          "'.find('[ab]*a[ab]{10}' + string(i)) == 'c')",
      // Errors have texts, even if none is read.
      "lists.range(40000).exists(i, isCIDR('" + repeated("\\u0001", 300) + "' + string(i)))",
      "lists.range(40000).exists(i, ip('" + repeated("\\u0001", 300) + "' + string(i)) == ip('::'))",
      // Nothing but nodes that cost nothing.
      "lists.range(40000).exists(i, " + repeated("false", 1400, "||") + ")",
      "lists.range(1000).exists(i, lists.range(1000).exists(j, " + repeated("!(!(false))", 90, "||") + "))",
  };
  for (const std::string& expression : rows) {
    ASSERT_LE(expression.size(), kExpressionBytesMax);
    const Taken it = taken(expression);
    const bool is_ended = it.error.find("work steps") != std::string::npos ||
                          it.error.find("costs more") != std::string::npos ||
                          it.error.find("makes more") != std::string::npos;
    EXPECT_TRUE(is_ended) << expression.substr(0, 2000) << ": " << it.error;
    EXPECT_LT(it.steps, 4 * kStepsMax) << expression.substr(0, 2000);
    EXPECT_LT(it.compile_steps, 2 * kCompileStepsMax) << expression.substr(0, 2000);
  }
}

// Red when steps do not end these: at upstream's price they do not end.
TEST(CelSteps, EndComparisonsOfSharedValues) {
  const Taken it = taken(shared("a40 == b40", "[", ","));
  EXPECT_LT(it.cost, 2'000u);
  EXPECT_GT(it.steps, kStepsMax);
  EXPECT_EQ(it.error.substr(0, 58), "it takes more work steps than an evaluation may take (colu");
}

TEST(CelSteps, HonourTheGivenLimit) {
  const auto program = Program::compile("lists.range(100).all(x, x < 100)", language());
  ASSERT_TRUE(program);
  Evaluator evaluator;
  EXPECT_TRUE(evaluator.evaluate(*program, {}).is_true());
  const uint64_t steps = evaluator.steps();
  EXPECT_GT(steps, 100u);
  EXPECT_TRUE(evaluator.evaluate(*program, {}, kCostMax, steps).is_true())
      << "the limit itself is not beyond";
  const Value beyond = evaluator.evaluate(*program, {}, kCostMax, steps - 1);
  ASSERT_TRUE(beyond.is_error());
  EXPECT_EQ(beyond.error->failure, Failure::kSteps);
  EXPECT_TRUE(evaluator.evaluate(*program, {}).is_true())
      << "an evaluation that was ended leaves nothing behind";
  EXPECT_EQ(evaluator.steps(), steps);
}

// What a call costs is upstream's price and nothing else. Red when a function has a price of its own, and
// ends what upstream lets go on, or answers otherwise near the limit.
TEST(CelSteps, ChargeFunctionsByWorkAlone) {
  const struct {
    std::string expression;
    uint64_t cost_max;
  } rows[] = {
      // Upstream counts characters, not bytes: 2,000 of four bytes each, looked for in themselves.
      {"cel.bind(a, '" + repeated("\xF0\x9F\x98\x80", 200) +
           "', cel.bind(b, a+a+a+a+a+a+a+a+a+a, b.contains(b) && b.indexOf(b) == 0 && b.lastIndexOf(b) == "
           "0))",
       kCostMax},
      // Texts of one character cost nothing to look at.
      {"cel.bind(a, ['a','b','c','d','e','f','g','h','i','j'], a.indexOf('j') == 9 && a.lastIndexOf('a') == "
       "0)",
       60},
      // The price is the outer list's length.
      {"cel.bind(a, lists.range(60), size([a].flatten()) == 60)", 110},
  };
  for (const auto& row : rows) {
    const auto program = Program::compile(row.expression, language());
    ASSERT_TRUE(program) << program.error().what;
    Evaluator evaluator;
    const Value value = evaluator.evaluate(*program, {}, row.cost_max);
    EXPECT_TRUE(value.is_true()) << row.expression.substr(0, 80) << ": " << evaluator.error_text(*program)
                                 << ", cost " << evaluator.cost();
  }
}

// Red when a program keeps the parts of a path or of a constant, which evaluations do not visit.
TEST(CelMemory, KeepsOnlyNodesThatEvaluationsVisit) {
  const auto program =
      Program::compile("device.attributes['example.com'].a == 'x' + 'y'", selector_environment());
  ASSERT_TRUE(program) << program.error().what;
  ASSERT_EQ(program->root().args().size(), 2u);
  for (const Node* arg : program->root().args()) EXPECT_TRUE(arg->args().empty());
}

// Red when a program holds more memory than is counted for it.
TEST(CelMemory, CoversAllMemoryOfAProgram) {
  const std::string rows[] = {
      "true",
      repeated("'abc' == 'abd'", 500, " || "),
      repeated("dyn(1) + dyn(2) == 4", 400, " || "),
      "'" + std::string(9'000, 'x') + "' == 'y'",
      [] {
        std::string text = "false";
        for (int i = 0; i < 100; ++i) text += " || dyn('a').matches('" + std::to_string(i) + "')";
        return text;
      }(),
      "dyn('" + repeated("ab", 20) + "').matches('(?:a|b){0,400}c')",
      "dyn('" + repeated("aab", 20) + "').matches('[ab]*a[ab]{12}c')",
      "dyn('" + repeated("aab", 20) + "').matches('" + repeated("(a|b)", 100) + "')",
      "dyn('x').matches('" + std::string(512, '(').substr(0, 200) + std::string(200, ')') + "')",
      "dyn('x').matches('.{1000}')",
      "dyn('x').matches('\\\\pL\\\\pN')",
      "lists.range(1000).map(x, [x, x]) == []",
      [] {
        std::string text = "false";
        for (int i = 0; i < 100; ++i)
          text += " || device.attributes['example.com'].anAttributeOfSomeName" + std::to_string(i) + " == 1";
        return text;
      }(),
  };
  const kube::Device nothing;
  const PublishedDevice device("x", nothing);
  for (const std::string& row : rows) {
    const Environment& environment =
        row.find("device.") == std::string::npos ? language() : selector_environment();
    taken(row, environment);  // Creates the objects that all programs share.
    const ptrdiff_t before = fixture::held_bytes();
    const auto program = Program::compile(row, environment);
    ASSERT_TRUE(program) << row.substr(0, 80) << program.error().what;
    {
      Evaluator evaluator;
      evaluator.evaluate(*program, {&device, {}});
    }
    const ptrdiff_t held = fixture::held_bytes() - before;
    EXPECT_GT(held, static_cast<ptrdiff_t>(row.size())) << "a program keeps its text";
    EXPECT_LE(held, static_cast<ptrdiff_t>(program->memory())) << row.substr(0, 80);
  }
}

// || and && absorb errors; the limits of an evaluation are no such errors.
TEST(CelSteps, EndEvaluationDespiteShortCircuits) {
  for (const char* around : {" || true", " ? true : true", " && false"}) {
    const Taken it = taken("(" + shared("a40 == b40", "[", ",") + ")" + around);
    EXPECT_NE(it.error.find("work steps"), std::string::npos) << around << ": " << it.error;
  }
}

// Values may be nested deeper than an expression is; a worker's stack is small.
TEST(CelSteps, DepthIsBounded) {
  const auto deep = [](const std::string& leaf, const std::string& end) {
    std::string text = "cel.bind(x0, " + leaf + ",";
    for (int i = 1; i <= 70; ++i)
      text += "cel.bind(x" + std::to_string(i) + ",dyn(" + std::string(18, '[') + "x" +
              std::to_string(i - 1) + std::string(18, ']') + "),";
    return text + end + std::string(71, ')');
  };
  for (const char* end :
       {"x70 == x70", "x70 in [x70]", "x70.flatten(10000) == []", "'%s'.format([x70]) == ''"}) {
    const Taken it = taken(deep("dyn([])", end));
    EXPECT_NE(it.error.find("nested more than"), std::string::npos) << end << ": " << it.error;
  }
  // Types are, too.
  std::string types = "cel.bind(x0, 1,";
  for (int i = 1; i <= 70; ++i)
    types += "cel.bind(x" + std::to_string(i) + "," + std::string(18, '[') + "x" + std::to_string(i - 1) +
             std::string(18, ']') + ",";
  const Taken it = taken(types + repeated("x70 == x70", 200, "||") + std::string(71, ')'));
  EXPECT_NE(it.error.find("nested more than"), std::string::npos) << it.error;
  EXPECT_LT(it.error.size(), 200u);
}

// A map's type holds that of its keys and that of its values: each level of these has twice as many parts as the one
// below, in 20 bytes. Red when whoever holds types against each other walks through all of them (levels of 60 never
// ended, on a worker that nobody can interrupt).
TEST(CelSteps, TypesThatShareTheirPartsAreBounded) {
  const std::string ends[] = {"x24 == x24",
                              "x24 != {}",
                              "[x24, x24] == []",
                              "(1 == 1 ? x24 : x24) == {}",
                              "x24 in [x24]",
                              "x24[x24] == x24",
                              "[x24].indexOf(x24) == 0",
                              "{x24: x24}.size() == 1",
                              "optional.of(x24).orValue(x24) == x24",
                              "[x24].all(y, y == x24)"};
  for (const std::string& end : ends) {
    std::string text = "cel.bind(x0, 1,";
    for (int i = 1; i <= 24; ++i) {
      const std::string below = "x" + std::to_string(i - 1);
      text += "cel.bind(x" + std::to_string(i) + ",{" + below + ":" + below + "},";
    }
    const Taken it = taken(text + end + std::string(25, ')'), selector_environment());
    EXPECT_NE(it.error.find("more than 1000 parts"), std::string::npos) << end << ": " << it.error;
    EXPECT_LT(it.error.size(), 200u);
  }
  // Expressions of users have a few.
  EXPECT_EQ(taken("{'a': {1: {'b': [{'c': {'d': 1}}]}}} == {}", selector_environment()).error, "");
}

// On a thread like a worker's, with half of its stack.
Taken taken_by_worker(const std::string& expression) {
  struct {
    const std::string& expression;
    Taken taken;
  } job{expression, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, reactor::ThreadExecutor::kStackBytes / 2);
  const auto work = [](void* given) -> void* {
    auto& it = *static_cast<decltype(job)*>(given);
    it.taken = taken(it.expression, selector_environment());
    return nullptr;
  };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attributes, work, &job), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return job.taken;
}

// Ends the process when a stack is too small for an expression of 300 bytes.
TEST(CelSteps, NestingFitsTheStackOfAWorker) {
  const std::string leaf = "device.driver == 'x'";
  const struct {
    std::string open, close;
  } rows[] = {{"(", ")"},
              {"!(", ")"},
              {"1==2||true&&!(", ")"},
              {"[1].exists(x,", ")"},
              {"[1].sortBy(x,", ")==[1]"},
              {"{1:1}.transformMap(k,v,", ")=={1:true}"},
              {"true?(", "):false"},
              {"size([", "])==1"},
              {"'%s'.format([", "])==''"}};
  for (const auto& row : rows)
    for (const int times : {80, 120, 160, 200, 248, 251}) {
      const std::string text = repeated(row.open, times) + leaf + repeated(row.close, times);
      if (text.size() > kExpressionBytesMax) continue;
      const Taken it = taken_by_worker(text);
      EXPECT_TRUE(it.error.empty() || it.error.find("nested more than 250 deep") != std::string::npos)
          << row.open << " " << times << ": " << it.error;
    }
  EXPECT_EQ(taken_by_worker(repeated("(", 248) + leaf + repeated(")", 248)).error, "");
  EXPECT_EQ(taken_by_worker("'a'.matches('" + repeated("(", 250) + "a" + repeated(")", 250) + "')").error,
            "");
  // What is bound is evaluated where it is read, which is within another that was bound.
  for (const auto& row : rows) {
    std::string text = "cel.bind(a," + leaf + ",";
    const size_t size = 14 + row.open.size() + row.close.size();
    const int times = std::min<int>(240, static_cast<int>(9'900 / size));
    for (int i = 0; i < times; ++i) text += "cel.bind(a," + row.open + "a" + row.close + ",";
    EXPECT_EQ(taken_by_worker(text + "a" + repeated(")", times + 1)).error, "") << row.open;
  }
  std::string chain = "cel.bind(a," + leaf + ",";
  for (int i = 0; i < 200; ++i) chain += "cel.bind(a," + repeated("!(", 10) + "a" + repeated(")", 10) + ",";
  const Taken it = taken_by_worker(chain + "a" + repeated(")", 201));
  EXPECT_NE(it.error.find("nested too deep"), std::string::npos) << it.error;
}

// Compiling has its own limit of steps: work beyond it is refused before it is done.
TEST(CelSteps, BoundCompilation) {
  std::string folded, patterns, dots;
  for (int i = 0; i < 250; ++i) {
    const std::string n = std::to_string(i);
    folded += (i == 0 ? "" : "||") + std::string("lists.range(8000).sort().size()==") + n;
    patterns += (i == 0 ? "" : "||") + std::string("'a'.matches('(?i)[^\\\\PL]") + n + "')";
  }
  for (const std::string& expression :
       {folded, patterns,
        repeated("'a'.matches('.{900}')", 400, "||") + "||'a'.matches('" + repeated(".{900}x", 60) + "')",
        "[" + repeated(repeated("a", 200, "."), 25, ",") + "] == []",
        "[" + repeated("[]", 3000, ",") + "] == []",
        "cel.bind(a, 1, [" + repeated("a", 4500, ",") + "] == [])", repeated("dyn(1) < dyn(2)", 500, "&&"),
        std::string(9'000, '!') + "true", repeated("(true?", 90) + "true" + repeated(":true)", 90)}) {
    ASSERT_LE(expression.size(), kExpressionBytesMax);
    const Taken it = taken(expression);
    EXPECT_LT(it.compile_steps, 2 * kCompileStepsMax) << expression.substr(0, 100);
    EXPECT_LT(it.error.size(), 400u) << expression.substr(0, 100);
  }
  EXPECT_NE(taken(folded).error.find("compiling the expression takes too much work"), std::string::npos);
  EXPECT_NE(taken(patterns).error.find("refused"), std::string::npos);
}

TEST(CelSteps, CompilePatternsOncePerExpression) {
  const uint64_t once = taken("'a'.matches('b+c')").compile_steps;
  const uint64_t often = taken(repeated("'a'.matches('b+c')", 10, "||")).compile_steps;
  const uint64_t others = taken("'a'.matches('b+c')||'a'.matches('b+d')").compile_steps;
  EXPECT_LT(often, 5 * once);
  EXPECT_GT(others - once, once / 2);
}

TEST(CelSteps, TypicalExpressionsNeedFew) {
  for (const char* expression :
       {"'enp3s0f0np0'.matches('^en[a-z0-9]+$') && 'a' in ['a', 'b']", "'vf' == 'vf' && 1500 >= 1500",
        "semver('1.2.3').isGreaterThan(semver('1.0.0'))", "['a', 'b', 'c'].exists(x, x.startsWith('c'))",
        "quantity('10Gi').isGreaterThan(quantity('1Gi'))", "cidr('10.0.0.0/8').containsIP('10.1.2.3')"}) {
    const Taken it = taken(expression);
    EXPECT_EQ(it.error, "") << expression;
    EXPECT_LT(it.steps, 1'000u) << expression;
    EXPECT_LT(it.compile_steps, 10'000u) << expression;
  }
}

// ---- every function

// How an argument of a type is written. Variables: z texts, y bytes, l lists of numbers, t of
// texts, m maps.
const std::map<std::string, std::string, std::less<>>& written() {
  static const std::map<std::string, std::string, std::less<>> it = {
      {"string", "z"},
      {"bytes", "y"},
      {"list(int)", "l"},
      {"list(string)", "t"},
      {"list(A)", "l"},
      {"list(list(A))", "[l]"},
      {"list(dyn)", "l"},
      {"map(A, B)", "m"},
      {"int", "1"},
      {"bool", "true"},
      {"A", "1"},
      {"dyn", "l"},
      {"list(uint)", "l.map(e, uint(e))"},
      {"list(double)", "l.map(e, double(e))"},
      {"list(duration)", "l.map(e, duration('1s'))"},
      {"list(optional(A))", "l.map(e, optional.of(e))"},
      {"uint", "1u"},
      {"double", "1.0"},
      {"timestamp", "timestamp(0)"},
      {"duration", "duration('1s')"},
      {"optional(A)", "optional.of(1)"},
      {"Quantity", "quantity('1')"},
      {"Semver", "semver('1.0.0-' + z)"},
      {"IP", "ip('::1')"},
      {"CIDR", "cidr('::1/8')"},
      {"URL", "url('http://a/' + z + '?' + z)"},
      {"Format", "format.labelValue()"},
  };
  return it;
}

// Which say of a long argument what is known of it at once, or stop at its first byte, as far as they are
// asked here.
bool is_constant(std::string_view signature) {
  static const std::set<std::string_view> it = {"size(bytes): int",
                                                "size(list(A)): int",
                                                "size(map(A, B)): int",
                                                "bytes.size(): int",
                                                "list(A).size(): int",
                                                "map(A, B).size(): int",
                                                "list(A).slice(int, int): list(A)",
                                                "list(A).first(): optional(A)",
                                                "list(A).last(): optional(A)",
                                                "dyn(A): dyn",
                                                "type(A): type",
                                                "string(string): string",
                                                "bytes(bytes): bytes",
                                                "bytes(string): bytes",
                                                "@in(A, map(A, B)): bool",
                                                "format.named(string): optional(Format)",
                                                "URL.getScheme(): string",
                                                "URL.getHost(): string",
                                                "URL.getHostname(): string",
                                                "URL.getPort(): string",
                                                "Semver.major(): int",
                                                "Semver.minor(): int",
                                                "Semver.patch(): int",
                                                "optional(A).orValue(A): A",
                                                "optional(A).or(optional(A)): optional(A)",
                                                "list(A).indexOf(A): int",
                                                "@in(A, list(A)): bool",
                                                "dyn.includes(dyn): bool",
                                                "sets.contains(list(A), list(A)): bool",
                                                "sets.intersects(list(A), list(A)): bool"};
  return it.contains(signature);
}

bool is_long(std::string_view type) {
  return type == "string" || type == "bytes" || type == "dyn" || type.starts_with("list") ||
         type.starts_with("map");
}

struct Call {
  std::string name;
  bool is_member = false;
  std::vector<std::string> args;  // types, the receiver first
};

Call read_signature(std::string_view text) {
  const size_t close = text.rfind("): ");
  size_t open = close;
  for (int depth = 1; depth > 0;) {
    --open;
    depth += text[open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
  }
  Call out{std::string(text.substr(0, open)), false, {}};
  if (const size_t dot = out.name.rfind('.');
      dot != std::string::npos && written().contains(out.name.substr(0, dot))) {
    out = {out.name.substr(dot + 1), true, {out.name.substr(0, dot)}};
  }
  std::string type;
  int depth = 0;
  for (const char c : std::string(text.substr(open + 1, close - open - 1)) + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      if (c != ' ' || depth > 0) type += c;
    } else if (!type.empty()) {
      out.args.push_back(std::exchange(type, ""));
    }
  }
  return out;
}

// Operators are not called by their name.
std::string call_of(const std::string& function, bool is_member, const std::vector<std::string>& args) {
  if (function == "@in") return args[0] + " in " + args[1];
  if (function.front() == '_') return args[0] + " " + function.substr(1, function.size() - 2) + " " + args[1];
  if (function.front() == '-' || function.front() == '!') return function.substr(0, 1) + args[0];
  std::string text = (is_member ? "(" + args[0] + ")." : "") + function + "(";
  for (size_t i = is_member ? 1 : 0; i < args.size(); ++i)
    text += (i > (is_member ? 1u : 0u) ? ", " : "") + args[i];
  return text + ")";
}

struct LongArguments {
  explicit LongArguments(size_t size) : text(size, '1'), octets(size, 'b') {
    environment.variables = {
        {"z", "string"}, {"y", "bytes"}, {"l", "list(int)"}, {"t", "list(string)"}, {"m", "map(int, int)"}};
    std::vector<Value> numbers, texts;
    auto* entries = values.arena.array<EntryMap::Entry>(size);
    for (size_t i = 0; i < size; ++i) {
      numbers.push_back(Value::of(static_cast<int64_t>(i)));
      texts.push_back(Value::of(std::string_view("a")));
      entries[i] = {numbers.back(), numbers.back()};
    }
    const Map* map = EntryMap::make(entries, size, values.arena);
    activation.variables = {Value::of(std::string_view(text)),
                            Value::of(std::string_view(octets), Kind::kBytes), values.list(numbers),
                            values.list(texts), Value::of(map)};
  }
  /// nullopt: no such expression.
  std::optional<uint64_t> steps(const std::string& expression) {
    const auto program = Program::compile(expression, environment);
    if (!program) return std::nullopt;
    evaluator.evaluate(*program, activation, 1'000'000'000, 1'000'000'000);
    return evaluator.steps();
  }

  Environment environment = language();
  std::string text, octets;
  Evaluation values{size_t{16} << 20};
  Activation activation;
  Evaluator evaluator{size_t{16} << 20};
};

// Red when a function is added that works through its arguments without taking steps for it.
TEST(CelSteps, GrowWithTheLengthOfArguments) {
  constexpr size_t kShort = 256, kLong = 4096;
  LongArguments few(kShort), many(kLong);
  size_t held = 0;
  for (const auto& declarations :
       {operators(), conversions(), texts(), collections(), times(), kubernetes_types(), formats()}) {
    for (const Declaration& declaration : declarations) {
      const Call call = read_signature(declaration.signature);
      bool has_long = false;
      std::vector<std::string> args;
      for (const std::string& type : call.args) {
        const auto at = written().find(type);
        ASSERT_NE(at, written().end()) << declaration.signature << ": how is a " << type << " written?";
        args.push_back(at->second);
        has_long = has_long || is_long(type);
      }
      // Patterns have a bound of their own.
      if (call.name == "matches" || call.name.starts_with("find")) args[1] = "'b'";
      if (!has_long || is_constant(declaration.signature)) continue;
      const std::string expression = call_of(call.name, call.is_member, args);
      const auto short_steps = few.steps(expression), long_steps = many.steps(expression);
      ASSERT_TRUE(short_steps && long_steps) << declaration.signature << ": " << expression;
      EXPECT_GE(*long_steps, *short_steps + (kLong - kShort) / 1024 * 16)
          << declaration.signature << ": " << expression << " takes " << *short_steps << " and "
          << *long_steps;
      ++held;
    }
  }
  EXPECT_GT(held, 80u);
}

}  // namespace
}  // namespace sliced::cel
