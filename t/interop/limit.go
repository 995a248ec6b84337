// Package interop has what the tests of its folders share.
package interop

import (
	"flag"
	"os"
	"path/filepath"
	"time"
)

// started is when the test program began, from which `go test -timeout` counts.
var started = time.Now()

// Limit is when waits give up: two minutes before the limit of the test program, so that a test can print what it waited for. A
// machine may be slow, so nothing else ends a wait.
func Limit() time.Time {
	timeout := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if timeout <= 0 {
		timeout = 1000 * time.Hour
	}
	return started.Add(max(timeout-2*time.Minute, timeout/2))
}

// Program returns the absolute path of a C++ program of the tests. SLICED_TEST_PROGRAMS is their directory where they are not in the build folder:
// in the guest of t/guest.
func Program(name string) string {
	directory := os.Getenv("SLICED_TEST_PROGRAMS")
	if directory == "" {
		directory = "../../../build/t"
	}
	path, err := filepath.Abs(filepath.Join(directory, name))
	if err != nil {
		panic(err) // there is no current directory
	}
	return path
}
