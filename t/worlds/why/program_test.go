// Package why makes up worlds of nodes, slices, claims and a pod, and holds what `why` says of them against Kubernetes' own
// allocator. README.md.
package why

import (
	"errors"

	"sliced.test/worlds/asked"
)

// What `why -o json` says, as far as it is judged.
type answer struct {
	Error      string       `json:"error"`
	Verdict    string       `json:"verdict"`
	AbortedBy  string       `json:"abortedBy"`
	Everywhere []string     `json:"everywhere"`
	Unsure     []string     `json:"unsure"`
	Nodes      []nodeAnswer `json:"nodes"`
}

type nodeAnswer struct {
	Name        string   `json:"name"`
	CanRun      bool     `json:"canRun"`
	Allocatable string   `json:"allocatable"`
	KeptAway    string   `json:"keptAway"`
	Error       string   `json:"error"`
	Changes     []change `json:"changes"`
	AnyOneOf    []change `json:"anyOneOf"`
}

type change struct {
	Asks        string `json:"asks"`
	Text        string `json:"text"`
	Claim       string `json:"claim"`
	Request     string `json:"request"`
	DeviceClass string `json:"deviceClass"`
	Expression  string `json:"expression"`
	Capacity    string `json:"capacity"`
	Count       int64  `json:"count"`
	Index       int    `json:"index"`
	Taint       struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Effect string `json:"effect"`
	} `json:"taint"`
	Pools []struct {
		Driver string `json:"driver"`
		Pool   string `json:"pool"`
	} `json:"pools"`
}

// ask lets build/t/why look at a world.
func ask(p *asked.Program, w *world) (answer, error) {
	var out answer
	if err := p.Ask(w.question(), &out); err != nil {
		return out, err
	}
	if out.Error != "" {
		return out, errors.New(out.Error)
	}
	return out, nil
}
