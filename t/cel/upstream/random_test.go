package upstream

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

var (
	seed  = flag.Int64("seed", 1, "of the random selectors")
	count = flag.Int("count", 4000, "of random selectors")
)

// Red when a random selector matches here and not upstream, or the other way round, or is an error for one and not
// for the other, or costs far from what upstream counts; and when too few of them have a value, or too few a
// match, for that to mean anything.
func TestRandomSelectorsMatchKubernetes(t *testing.T) {
	m := &maker{
		grammar: readGrammar(t, "../grammar/language.txt", "../grammar/selectors.txt", "../grammar/upstream.txt"),
		Rand:    rand.New(rand.NewSource(*seed)),
	}
	whole := readCases(t, corpus+"/ours/kubernetes.jsonl")[0].Device
	var cases []selectorCase
	answers := map[string]int{}
	for i := range *count {
		one := selectorCase{ID: fmt.Sprintf("random/%d/%d", *seed, i), Device: someOf(t, m.Rand, whole)}
		one.Expression = m.make("bool", 1+m.Intn(4))
		one.Expect = ask(one.Expression, decodeDevice(t, one.Device))
		answers[kindOf(one.Expect)]++
		if isGuess(one) {
			answers["guessed"]++
			continue
		}
		cases = append(cases, one)
	}
	t.Log(answers)
	if answers["true"]+answers["false"] < *count*6/10 || answers["true"] < *count/5 || answers["false"] < *count/5 ||
		answers["runtime"] < *count/50 || answers["guessed"] > *count/50 {
		t.Errorf("of %d selectors: %v", *count, answers)
	}
	run(t, cases)
}

// isGuess tells where the answers may differ. Upstream gives what is in an empty list, what optional.none() would have,
// and what dyn.reverse() or distinct() gives, the type of the first overload that it fits or that another place asks
// for, whatever comes of it: [].min() is an int.
func isGuess(one selectorCase) bool {
	return anyOf(one.Expect.Message, "found no matching overload", "expected type", "no such overload: ", "error during formatting") &&
		anyOf(one.Expression, "[]", "optional.none()", ".reverse()", ".distinct()", ".slice(")
}

func anyOf(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func kindOf(one answer) string {
	if one.Match != nil {
		return fmt.Sprint(*one.Match)
	}
	return one.Error
}

// someOf is the device without a few of its attributes.
func someOf(t testing.TB, random *rand.Rand, whole json.RawMessage) json.RawMessage {
	var d map[string]any
	decoder := json.NewDecoder(bytes.NewReader(whole))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	attributes := d["attributes"].(map[string]any)
	names := slices.Sorted(maps.Keys(attributes))
	for _, name := range names {
		if random.Intn(12) == 0 {
			delete(attributes, name)
		}
	}
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
