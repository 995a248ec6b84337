// node expressions.mjs --grammar DIRECTORY [--seed N] [--count N]: random well-typed expressions with what @bufbuild/cel
// gives for them, as cases of ../corpus/README.md, a line each. Last, on standard error: how many have a value, how
// many are errors and how many were left out, by the rule that says why; exits with 1 when too few have a value or too
// many were left out for the cases to mean anything.
import { celEnv, celUint, isCelError, isCelList, isCelMap, isCelType, isCelUint, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { parseArgs } from "node:util";
import { Maker, randomFrom, readGrammar } from "./grammar.mjs";
import { differences } from "./differences.mjs";

const { values: options } = parseArgs({
  options: { grammar: { type: "string" }, seed: { type: "string", default: "1" }, count: { type: "string", default: "5000" } },
});
const seed = Number(options.seed), count = Number(options.count);

// Variables: their kinds in the grammar, their types, and what values they have in turn.
const variables = [
  { name: "i", kind: "int", type: "int", values: [0n, 42n, -7n, 9007199254740992n] },
  { name: "j", kind: "int", type: "int", values: [1n, 2n, -1n, 9223372036854775807n] },
  { name: "u", kind: "uint", type: "uint", values: [0n, 7n, 18446744073709551615n].map(celUint) },
  { name: "d", kind: "double", type: "double", values: [0, 1.5, -2.25, 1e18] },
  { name: "b", kind: "bool", type: "bool", values: [true, false] },
  { name: "s", kind: "string", type: "string", values: ["fish", "", "héllo ☺", "17"] },
  { name: "t", kind: "string", type: "string", values: ["a", "cat", "x,y"] },
  { name: "y", kind: "bytes", type: "bytes", values: [new Uint8Array([104, 105]), new Uint8Array([255])] },
  { name: "li", kind: "ints", type: "list(int)", values: [[3n, 1n, 2n], []] },
  { name: "ls", kind: "strings", type: "list(string)", values: [["b", "a", "b"], [""]] },
  { name: "m", kind: "texts", type: "map(string, int)", values: [new Map([["a", 1n], ["abc", -3n]]), new Map()] },
  { name: "n", kind: "numbers", type: "map(int, string)", values: [new Map([[1n, "one"], [0n, ""]])] },
];

function typed(value) {
  if (value === null) return { null: null };
  if (typeof value === "boolean") return { bool: value };
  if (typeof value === "bigint") return { int: String(value) };
  if (typeof value === "number") return { double: String(value) };
  if (typeof value === "string") return { string: value };
  if (isCelUint(value)) return { uint: String(value.value) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (isCelType(value)) return { type: value.kind === "scalar" ? value.name : value.name };
  if (Array.isArray(value) || isCelList(value)) return { list: [...value].map(typed) };
  if (value instanceof Map || isCelMap(value)) return { map: [...value].map(([key, item]) => [typed(key), typed(item)]) };
  const kind = value.desc?.typeName.replace("google.protobuf.", "").toLowerCase();
  if (kind !== "timestamp" && kind !== "duration") throw new Error(`a value of no known kind: ${value}`);
  return { [kind]: { seconds: String(value.message.seconds), nanos: value.message.nanos } };
}

const environment = celEnv({ funcs: strings });

// { value } or { error }.
function answer(expression, bindings) {
  try {
    const value = plan(environment, parse(expression))(bindings);
    return isCelError(value) ? { error: value.message } : { value: typed(value) };
  } catch (error) {
    return { error: error.message };
  }
}

const random = randomFrom(seed);
const one = (list) => list[random(list.length)];
const kinds = ["bool", "bool", "bool", "int", "int", "uint", "double", "string", "string", "bytes", "ints", "strings", "texts",
  "numbers", "bools", "doubles", "lists", "time", "span"];
const maker = new Maker(readGrammar(["language", "order"].map((name) => `${options.grammar}/${name}.txt`)), random, variables);
const type_env = Object.fromEntries(variables.map(({ name, type }) => [name, type]));
const tally = { values: 0, errors: 0, left_out: {} };

for (let i = 0; i < count; ++i) {
  const given = Object.fromEntries(variables.map(({ name, values }) => [name, one(values)]));
  const expr = maker.make(one(kinds), 1 + random(4));
  const rule = differences.find(({ applies }) => applies(expr));
  if (rule !== undefined) {
    tally.left_out[rule.why] = (tally.left_out[rule.why] ?? 0) + 1;
    continue;
  }
  const got = answer(expr, given);
  ++tally[got.error === undefined ? "values" : "errors"];
  const bindings = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, typed(value)]));
  const expect = got.error === undefined ? got : { error: true, messages: [got.error] };
  const line = JSON.stringify({ id: `random/${seed}/${i}`, expr, type_env, bindings, expect }) + "\n";
  if (!process.stdout.write(line)) await new Promise((resume) => process.stdout.once("drain", resume));
}
console.error(JSON.stringify(tally));
const left_out = Object.values(tally.left_out).reduce((a, b) => a + b, 0);
if (tally.values < count * 0.6 || tally.errors < count * 0.02 || left_out > count * 0.08) process.exitCode = 1;
