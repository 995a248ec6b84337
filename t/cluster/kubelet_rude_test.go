package cluster

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"sliced.test/cluster/harness"
)

const prepareMethod = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"

var rudeMemory = flag.Int("memory", 64, "MiB that rude clients may cost the daemon; one with a sanitizer keeps what is freed")

// rude is a client of a unix socket that keeps to no rule.
type rude struct {
	t    *testing.T
	path string
}

// open is a connection that ends with the test; nil where it was refused.
func (r rude) open() net.Conn {
	connection, err := net.Dial("unix", r.path)
	if err != nil {
		return nil
	}
	r.t.Cleanup(func() { connection.Close() })
	return connection
}

// speak is a connection on which HTTP/2 has begun.
func (r rude) speak() (net.Conn, *http2.Framer) {
	connection := r.open()
	if connection == nil {
		return nil, nil
	}
	connection.SetDeadline(harness.Limit())
	io.WriteString(connection, http2.ClientPreface)
	framer := http2.NewFramer(connection, connection)
	framer.SetMaxReadFrameSize(1 << 24)
	framer.WriteSettings()
	return connection, framer
}

func head(pairs ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return block.Bytes()
}

func grpcHead(contentType string) []byte {
	return head(":method", "POST", ":scheme", "http", ":authority", "localhost", ":path", prepareMethod,
		"content-type", contentType, "te", "trailers")
}

// drain reads until the server ends the connection or the time is over.
func drain(connection net.Conn) {
	connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	io.Copy(io.Discard, connection)
	connection.Close()
}

var rudenesses = map[string]func(r rude){
	"a message of four gigabytes": func(r rude) {
		connection, framer := r.speak()
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: grpcHead("application/grpc"), EndHeaders: true})
		framer.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff})
		for range 100 {
			if framer.WriteData(1, false, make([]byte, 16_000)) != nil {
				break
			}
		}
		drain(connection)
	},
	"a frame of sixteen megabytes": func(r rude) {
		connection, _ := r.speak()
		connection.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1})
		connection.Write(make([]byte, 1<<24-1))
		drain(connection)
	},
	"heads without end": func(r rude) {
		connection, framer := r.speak()
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: grpcHead("application/grpc")})
		for i := range 2_000 {
			if framer.WriteContinuation(1, false, head("x-"+strconv.Itoa(i), strings.Repeat("y", 8_000))) != nil {
				break
			}
		}
		drain(connection)
	},
	"streams that are reset": func(r rude) {
		connection, framer := r.speak()
		go drain(connection)
		for i := range uint32(20_000) {
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: grpcHead("application/grpc"), EndHeaders: true})
			if framer.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				break
			}
		}
	},
	"settings and pings": func(r rude) {
		connection, framer := r.speak()
		for range 20_000 {
			framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
			if framer.WritePing(false, [8]byte{}) != nil {
				break
			}
		}
		drain(connection)
	},
	"bytes by chance": func(r rude) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			connection := r.open()
			if connection == nil {
				continue
			}
			if random.IntN(2) == 0 {
				io.WriteString(connection, http2.ClientPreface)
			}
			noise := make([]byte, 1+random.IntN(5_000))
			for i := range noise {
				noise[i] = byte(random.UintN(256))
			}
			connection.Write(noise)
			connection.Close()
		}
	},
	"messages by chance": func(r rude) {
		random := rand.New(rand.NewPCG(3, 4))
		client := dial(r.t, r.path)
		for i := range 300 {
			message := make([]byte, random.IntN(200))
			for i := range message {
				message[i] = byte(random.UintN(256))
			}
			var answer []byte
			err := client.Invoke(harness.Patient(r.t), prepareMethod, &message, &answer, grpc.ForceCodec(raw{}))
			switch status.Code(err) {
			case codes.OK, codes.InvalidArgument, codes.ResourceExhausted, codes.Internal:
			default:
				r.t.Errorf("message %d %x: %v", i, message, err)
			}
		}
	},
	"other types": func(r rude) {
		for contentType, want := range map[string]string{"application/json": "415", "text/plain": "415", "application/grpc+xml": "415"} {
			connection, framer := r.speak()
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: grpcHead(contentType), EndHeaders: true, EndStream: true})
			if code := statusOf(framer); code != want {
				r.t.Errorf("content-type %s: %s, wants %s", contentType, code, want)
			}
			connection.Close()
		}
	},
	"another protocol": func(r rude) {
		client := http.Client{Timeout: harness.UntilLimit(), Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", r.path)
		}}}
		defer client.CloseIdleConnections()
		answer, err := client.Get("http://localhost" + prepareMethod)
		if err != nil {
			r.t.Errorf("HTTP/1.1: %v", err)
			return
		}
		answer.Body.Close()
		if answer.StatusCode < 400 || answer.StatusCode > 499 {
			r.t.Errorf("HTTP/1.1: %s", answer.Status)
		}
	},
}

// raw is a codec that sends bytes as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (raw) Name() string                       { return "proto" }

// statusOf is ":status" of the first answer.
func statusOf(framer *http2.Framer) string {
	code := "none"
	decoder := hpack.NewDecoder(4096, func(field hpack.HeaderField) {
		if field.Name == ":status" {
			code = field.Value
		}
	})
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err.Error()
		}
		if headers, is := frame.(*http2.HeadersFrame); is {
			decoder.Write(headers.HeaderBlockFragment())
			return code
		}
	}
}

// memoryOf is the most that a process ever had in memory, in KiB.
func memoryOf(t *testing.T, process *harness.Process) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	most, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return most
}

// crowd is a thousand connections that say nothing, or half of something; the result ends them.
func crowd(path string) func() {
	var all []net.Conn
	for i := range 1_000 {
		connection, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			continue // the queue is full
		}
		if all = append(all, connection); i%2 == 0 {
			io.WriteString(connection, http2.ClientPreface[:10])
		}
	}
	return func() {
		for _, connection := range all {
			connection.Close()
		}
	}
}

// Turns red when a client that keeps to no rule ends the daemon, costs it memory, takes the kubelet's connection from it, or
// keeps others from being served for longer than it is there.
func TestRudeClients(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	before := memoryOf(t, v.daemon.Process)
	for i, path := range []string{v.root.Service(harness.Driver), v.root.Registration(harness.Driver)} {
		for name, do := range rudenesses {
			if i == 1 && strings.HasPrefix(name, "messages") {
				continue // that is another service there
			}
			do(rude{t, path})
			if v.daemon.Exited() {
				t.Fatalf("%s: the daemon ended", name)
			}
		}
		end := crowd(path)
		pod := fmt.Sprintf("beside-%d", i)
		v.newPod(pod)
		v.judgeRuns(pod, "a thousand connections")
		end()
		waitUntil(t, "a new client is served", promptly, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // then another client tries
			defer cancel()
			_, err := registration.NewRegistrationClient(dial(t, path)).GetInfo(ctx, &registration.InfoRequest{})
			return err == nil || status.Code(err) == codes.Unimplemented
		})
		v.delete(pod)
		v.judgeTakenBack(pod, "a thousand connections")
	}
	// Sixteen connections of each socket, each with its bounds.
	if now := memoryOf(t, v.daemon.Process); now > before+*rudeMemory<<10 {
		t.Errorf("the daemon had %d KiB in memory, before %d", now, before)
	} else {
		t.Logf("%d KiB in memory, before %d", now, before)
	}
}
