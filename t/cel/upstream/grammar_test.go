package upstream

import (
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// grammar is what an expression of a kind may look like: ../grammar/language.txt says the form. words are those
// without expressions within, which end the recursion.
type grammar struct{ texts, words map[string][]string }

var (
	line = regexp.MustCompile(`^(\w+)(?:\*(\d+))?: (.*)$`)
	mark = regexp.MustCompile(`[$@]-?[A-Za-z]+`)
	part = regexp.MustCompile(`\$[a-z]`)
)

func readGrammar(t testing.TB, paths ...string) grammar {
	t.Helper()
	out := grammar{map[string][]string{}, map[string][]string{}}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Split(string(content), "\n") {
			if text == "" || strings.HasPrefix(text, "#") {
				continue
			}
			parts := line.FindStringSubmatch(text)
			if parts == nil {
				t.Fatalf("%s: no production: %s", path, text)
			}
			weight, _ := strconv.Atoi("0" + parts[2])
			for ; weight > 0 || parts[2] == ""; weight-- {
				out.texts[parts[1]] = append(out.texts[parts[1]], parts[3])
				if !part.MatchString(parts[3]) {
					out.words[parts[1]] = append(out.words[parts[1]], parts[3])
				}
				if parts[2] == "" {
					break
				}
			}
		}
	}
	return out
}

// maker writes random expressions.
type maker struct {
	grammar
	*rand.Rand
	scope []variable
	named int
}

type variable struct{ kind, name string }

// make writes an expression of a kind, nested at most `depth` deep.
func (m *maker) make(kind string, depth int) string {
	var known []string
	for _, one := range m.scope {
		if one.kind == kind {
			known = append(known, one.name)
		}
	}
	if len(known) > 0 && m.Intn(3) == 0 {
		return known[m.Intn(len(known))]
	}
	texts := m.texts[kind]
	if depth <= 0 {
		texts = m.words[kind]
	}
	if len(texts) == 0 {
		panic("the grammar has no word of kind " + kind)
	}
	return m.fill(texts[m.Intn(len(texts))], depth-1)
}

func (m *maker) fill(text string, depth int) string {
	outside := m.scope
	var later []variable
	filled := mark.ReplaceAllStringFunc(text, func(found string) string {
		if kind, isVariable := strings.CutPrefix(found, "@"); isVariable {
			m.named++
			kind, isLater := strings.CutPrefix(kind, "-")
			one := variable{kind, "v" + strconv.Itoa(m.named)}
			if isLater {
				later = append(later, one)
			} else {
				m.scope = append(m.scope[:len(m.scope):len(m.scope)], one)
			}
			return one.name
		}
		inner := m.make(found[1:], depth)
		m.scope = append(m.scope[:len(m.scope):len(m.scope)], later...)
		later = nil
		if strings.Contains(inner, " ") && part.MatchString(found) {
			return "(" + inner + ")"
		}
		return inner
	})
	m.scope = outside
	return filled
}
