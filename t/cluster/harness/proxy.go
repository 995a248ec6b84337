package harness

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a load balancer before an API server. While it has no server it answers everything itself, as the default
// backend of an ingress does.
type Proxy struct {
	URL  string
	lost atomic.Bool
	hook atomic.Pointer[func(*http.Request, bool)]
	mu   sync.Mutex
	gone []string // Lost
	own  *httptest.Server
}

// Hook is called with every request before it is passed on, and again (true) once it is answered. It may block.
func (p *Proxy) Hook(hook func(r *http.Request, isAnswered bool)) { p.hook.Store(&hook) }

func (p *Plane) NewProxy(t testing.TB, server *APIServer) *Proxy {
	t.Helper()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(p.cred.dir, "server.crt"), filepath.Join(p.cred.dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(p.cred.caPEM)
	through := httputil.NewSingleHostReverseProxy(target)
	through.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	through.FlushInterval = -1 // events at once
	proxy := &Proxy{}
	proxy.own = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if proxy.lost.Load() {
			proxy.mu.Lock()
			proxy.gone = append(proxy.gone, r.URL.Path)
			proxy.mu.Unlock()
			http.Error(w, "default backend - 404", http.StatusNotFound)
			return
		}
		hook := proxy.hook.Load()
		if hook != nil {
			(*hook)(r, false)
		}
		through.ServeHTTP(w, r)
		if hook != nil {
			(*hook)(r, true)
		}
	}))
	proxy.own.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	proxy.own.StartTLS()
	proxy.URL = proxy.own.URL
	t.Cleanup(func() {
		proxy.own.CloseClientConnections()
		proxy.own.Close()
	})
	return proxy
}

// Lose takes the server away, and with it every connection.
func (p *Proxy) Lose() {
	p.lost.Store(true)
	p.own.CloseClientConnections()
}

func (p *Proxy) Find() { p.lost.Store(false) }

// Lost are the paths of the requests that it has answered itself, while it had no server.
func (p *Proxy) Lost() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gone)
}
