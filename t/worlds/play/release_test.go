package play

import "fmt"

// addsUp says that the scheduler of a version adds tokens up as it should: from 1.36.2 on.
func addsUp(version string) bool {
	var minor, patch int
	if n, err := fmt.Sscanf(version, "v1.%d.%d", &minor, &patch); n != 2 || err != nil {
		panic("no version: " + version)
	}
	return minor > 36 || minor == 36 && patch >= 2
}

// byRelease is a server without flags: it keeps counters and shared devices from 1.36 on.
var byRelease = struct {
	version          string
	counters, shared bool
}{release, addsUp(release), addsUp(release)}
