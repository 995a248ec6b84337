package cni

import (
	"flag"
	"time"
)

// started is when the test program began, from which `go test -timeout` counts.
var started = time.Now()

// limit is when waits give up: two minutes before the limit of the test program, so that a test can print what it waited for. A
// machine may be slow, so nothing else ends a wait.
func limit() time.Time {
	timeout := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if timeout <= 0 {
		timeout = 1000 * time.Hour
	}
	return started.Add(max(timeout-2*time.Minute, timeout/2))
}
