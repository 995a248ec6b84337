package cluster

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// releases is the document whose tables have a column for each release that the tests know.
const releases = "../../docs/kubernetes-versions.md"

var writeReleases = flag.Bool("write-releases", false, "write what was found into "+releases+" instead of comparing")

// fact is a cell of the document: what a row is about, and what a release does.
type fact struct{ row, cell string }

// absent is the cell of what a release does not have.
const absent = "–"

func cells(line string) []string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// compare holds a release's column of the document against what was found: every row, and nothing beside them.
func compare(t *testing.T, release string, found []fact) {
	t.Helper()
	text, err := os.ReadFile(harness.Path(releases))
	if err != nil {
		t.Fatal(err)
	}
	byRow := map[string]string{}
	for _, one := range found {
		if _, twice := byRow[one.row]; twice {
			t.Fatalf("%s was found twice", one.row)
		}
		byRow[one.row] = one.cell
	}
	column, columns, lines := -1, 0, strings.Split(string(text), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") {
			column = -1
			continue
		}
		row := cells(line)
		if at := slices.Index(row, release); at >= 0 {
			column = at
			columns++
			continue
		}
		if column < 0 || len(row) <= column || strings.HasPrefix(row[0], "---") {
			continue
		}
		cell, isFound := byRow[row[0]]
		if !isFound {
			cell = absent
		}
		delete(byRow, row[0])
		if *writeReleases {
			row[column] = cell
			lines[i] = "| " + strings.Join(row, " | ") + " |"
		} else if row[column] != cell {
			t.Errorf("%s: the document says %q of %s, found was %q", row[0], row[column], release, cell)
		}
	}
	if columns == 0 {
		t.Fatalf("%s has no column for %s", releases, release)
	}
	for row, cell := range byRow {
		t.Errorf("the document has no row %s (%s)", row, cell)
	}
	if *writeReleases {
		if err := os.WriteFile(harness.Path(releases), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Println("written:", releases)
	}
}
