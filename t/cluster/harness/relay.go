package harness

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Relay passes bytes between clients and an API server as they are, TLS and all, and counts connections.
type Relay struct {
	URL      string
	to       string
	listener net.Listener
	mu       sync.Mutex
	pairs    map[*relayed]bool
	accepted int
}

type relayed struct {
	client, server net.Conn
	dead           chan struct{} // closed: bytes get lost
}

func NewRelay(t testing.TB, server *APIServer) *Relay {
	t.Helper()
	return NewRelayAt(t, server, "127.0.0.1:0")
}

// NewRelayAt listens at an address such as "[::1]:0", for which the server's certificate is.
func NewRelayAt(t testing.TB, server *APIServer, address string) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{URL: "https://" + listener.Addr().String(), to: server.URL[len("https://"):], listener: listener,
		pairs: map[*relayed]bool{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(client)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for pair := range r.pairs {
			pair.client.Close()
			pair.server.Close()
		}
	})
	return r
}

func (r *Relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		client.Close()
		return
	}
	pair := &relayed{client: client, server: server, dead: make(chan struct{})}
	r.mu.Lock()
	r.pairs[pair] = true
	r.accepted++
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Add(2)
	pass := func(to, from net.Conn) {
		defer both.Done()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			select {
			case <-pair.dead:
				io.Copy(io.Discard, from) // until somebody closes it
				return
			default:
			}
			if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
				to.Close()
				from.Close()
				return
			}
		}
	}
	go pass(client, server)
	go pass(server, client)
	both.Wait()
	client.Close()
	server.Close()
	r.mu.Lock()
	delete(r.pairs, pair)
	r.mu.Unlock()
}

// Kill makes the peer of every present connection one that is dead without a word: bytes are taken and lost, nothing
// comes. New connections are fine.
func (r *Relay) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pair := range r.pairs {
		select {
		case <-pair.dead:
		default:
			close(pair.dead)
		}
	}
}

// Count is how many connections there are, and how many there were in all.
func (r *Relay) Count() (open, ever int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pairs), r.accepted
}
