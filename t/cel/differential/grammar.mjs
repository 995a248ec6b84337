// Random expressions by ../grammar: what ../upstream/grammar_test.go does in Go.
import { readFileSync } from "node:fs";

const isPart = /\$[a-z]/;

// { texts, words }: by kind; words have no expressions within and end the recursion.
export function readGrammar(paths) {
  const texts = new Map(), words = new Map();
  const add = (to, kind, text) => to.set(kind, [...(to.get(kind) ?? []), text]);
  for (const path of paths) {
    for (const line of readFileSync(path, "utf8").split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      const parts = line.match(/^(\w+)(?:\*(\d+))?: (.*)$/);
      if (parts === null) throw new Error(`${path}: no production: ${line}`);
      for (let weight = Number(parts[2] ?? 1); weight > 0; --weight) {
        add(texts, parts[1], parts[3]);
        if (!isPart.test(parts[3])) add(words, parts[1], parts[3]);
      }
    }
  }
  return { texts, words };
}

// Numbers 0 <= n < below, the same ones for a seed (mulberry32).
export function randomFrom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export class Maker {
  #named = 0;

  // scope: [{ kind, name }], the variables that any expression may use.
  constructor(grammar, random, scope) {
    Object.assign(this, { grammar, random, scope });
  }

  // An expression of a kind, nested at most `depth` deep.
  make(kind, depth) {
    const known = this.scope.filter((one) => one.kind === kind);
    if (known.length > 0 && this.random(3) === 0) return known[this.random(known.length)].name;
    const texts = (depth > 0 ? this.grammar.texts : this.grammar.words).get(kind);
    if (texts === undefined) throw new Error(`the grammar has no word of kind ${kind}`);
    return this.#fill(texts[this.random(texts.length)], depth - 1);
  }

  #fill(text, depth) {
    const outside = this.scope;
    let later = [];
    const filled = text.replace(/[$@]-?[A-Za-z]+/g, (found) => {
      if (found.startsWith("@")) {
        const variable = { kind: found.replace(/^@-?/, ""), name: `v${++this.#named}` };
        if (found.startsWith("@-")) later.push(variable);
        else this.scope = [...this.scope, variable];
        return variable.name;
      }
      const inner = this.make(found.slice(1), depth);
      this.scope = [...this.scope, ...later];
      later = [];
      return inner.includes(" ") && isPart.test(found) ? `(${inner})` : inner;
    });
    this.scope = outside;
    return filled;
  }
}
