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

// abilities of the API server and its scheduler.
type abilities struct {
	counters, shared bool
	version          string
}

const oldVersion = "v1.36.1" // its scheduler counts wrongly what is shared

// byRelease are those of a server without flags: counters and shared devices are on from 1.36 on.
var byRelease = abilities{addsUp(release), addsUp(release), release}

// counts says that tokens are added up as they should.
func (a abilities) counts() bool { return a.counters && addsUp(a.version) }

// full says that nothing is missing.
func (a abilities) full() bool { return a.counts() && a.shared }

// randomAbilities: four servers in five are as the release is without flags. In the others gates are turned off, or on where
// the release has them off, or the scheduler is older.
func randomAbilities(d dice) abilities {
	out := byRelease
	switch n := d.IntN(100); {
	case n < 5:
		out.counters = !out.counters
	case n < 10:
		out.shared = !out.shared
	case n < 13:
		out.counters, out.shared = !out.counters, !out.shared
	case n < 18:
		out.version = oldVersion
	}
	return out
}
