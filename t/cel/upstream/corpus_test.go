package upstream

import (
	"flag"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write what upstream answers into corpus/ours")

// Red when a case of the corpus claims what upstream does not answer, or ours is said to be stricter where both
// refuse the expression.
func TestCasesAreTrue(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, file := range files {
		cases := readCases(t, file)
		for i, one := range cases {
			asked++
			got := ask(one.Expression, decodeDevice(t, one.Device))
			switch {
			case one.Stricter != "":
				if one.Expect.Error == "" || got.Error == one.Expect.Error {
					t.Errorf("%s: upstream gives %v as well: nothing is stricter here", one.ID, got)
				}
			case *update && filepath.Base(filepath.Dir(file)) == "ours":
				cases[i].Expect = got
			case !same(one.Expect, got):
				t.Errorf("%s: %s\n  upstream gives %v, the case wants %v", one.ID, one.Expression, got, one.Expect)
			}
		}
		if *update && len(cases) > 0 && filepath.Base(filepath.Dir(file)) == "ours" {
			writeCases(t, file, cases)
		}
	}
	if asked < 350 {
		t.Errorf("%d cases of selectors in %s, wants 350 or more", asked, corpus)
	}
}
