package harness

import (
	"context"
	"flag"
	"testing"
	"time"
)

// Patience is for waits that have no limit of their own: a machine may be slow, so no test judges how long a consequence takes. They
// end at Limit.
const Patience = 1000 * time.Hour

// started is when the test program began, from which `go test -timeout` counts.
var started = time.Now()

// Limit is when waits give up: two minutes before the limit of the test program (go test -timeout), so that a test can print what it
// waited for and the last state.
func Limit() time.Time {
	timeout := Patience
	if set := flag.Lookup("test.timeout"); set != nil {
		if value, is := set.Value.(flag.Getter).Get().(time.Duration); is && value > 0 {
			timeout = value
		}
	}
	return started.Add(max(timeout-2*time.Minute, timeout/2))
}

// UntilLimit is the time that is left until Limit, at least a second.
func UntilLimit() time.Duration { return max(time.Until(Limit()), time.Second) }

// endOf is when a wait ends: after this time, and at Limit at the latest.
func endOf(within time.Duration) time.Time {
	if end := time.Now().Add(within); end.Before(Limit()) {
		return end
	}
	return Limit()
}

// Patient is the context of a call that may take as long as the test.
func Patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(context.Background(), Limit())
	t.Cleanup(cancel)
	return ctx
}
