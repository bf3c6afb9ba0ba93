package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// newPlace returns a place in a folder of the test.
func newPlace(t *testing.T) Place {
	t.Helper()
	folder, err := os.MkdirTemp("", "run") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	t.Setenv("XDG_RUNTIME_DIR", folder)
	config := filepath.Join(folder, "mcpbridge.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := PlaceOf(config)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// echo serves windows that get each line back.
func echo(_ context.Context, hello *Hello) (Window, error) {
	if string(hello.Folder) == "/refused" {
		return nil, errors.New("config x: line 3 is wrong")
	}
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		copied := make(chan error, 1)
		go func() {
			_, err := io.Copy(out, in)
			copied <- err
		}()
		select {
		case err := <-copied:
			return err
		case <-ctx.Done():
			return nil
		}
	}, nil
}

// serveAt serves windows at a place until the test or stop ends.
func serveAt(t *testing.T, place Place, s *Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ln, release, err := place.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = slog.New(slog.DiscardHandler)
	s.Set(Settings{MessageBytes: 1 << 20})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer release()
		if err := s.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// client is the other end of a shim.
type client struct {
	*testing.T
	in    io.WriteCloser
	out   *bufio.Reader
	ended chan error
}

func newClient(t *testing.T, shim *Shim) *client {
	t.Helper()
	conn, err := shim.Join(t.Context(), &Hello{})
	if err != nil {
		t.Fatal(err)
	}
	in, theirIn := io.Pipe()
	theirOut, out := io.Pipe()
	c := &client{t, theirIn, bufio.NewReader(theirOut), make(chan error, 1)}
	go func() {
		c.ended <- shim.Run(t.Context(), conn, &Hello{}, in, out)
		out.Close()
	}()
	return c
}

func (c *client) send(line string) {
	c.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

func (c *client) gets(want string) {
	c.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || line != want+"\n" {
		c.Fatalf("got %q, %v, expected %s", line, err, want)
	}
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// TestShim carries messages to one daemon, and to the next after that.
func TestShim(t *testing.T) {
	place := newPlace(t)
	stop := serveAt(t, place, &Server{Window: echo})
	lost := make(chan error, 1)
	stopped := make(chan struct{})
	c := newClient(t, &Shim{
		Join: func(ctx context.Context, hello *Hello) (*Conn, error) { return Dial(ctx, place, hello) },
		Lost: func(reason error) {
			<-stopped
			serveAt(t, place, &Server{Window: echo})
			lost <- reason
		},
	})
	c.send(listChanged)
	c.gets(listChanged)
	stop()
	close(stopped)
	<-lost
	c.send(listChanged)
	c.gets(listChanged)
	long := `{"jsonrpc":"2.0","method":"x","params":{"a":"` + strings.Repeat("b", 64<<10) + `"}}`
	c.send(long)
	c.gets(long)
	c.send(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 1<<20) + `"}`)
	c.gets(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message of 1048605 bytes is over the limit of 1048576 bytes"}}`)
	c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`)
	c.gets(`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a message of 1048640 bytes is over the limit of 1048576 bytes"}}`)
	c.send(`{"jsonrpc":"2.0","id":"daemon-2:8","result":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`) // the daemon gets this error
	c.gets(`{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"a message of 1048629 bytes is over the limit of 1048576 bytes"}}`)
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// TestShimFails answers what waits when there is no other daemon.
func TestShimFails(t *testing.T) {
	place := newPlace(t)
	taken := make(chan struct{})
	stop := serveAt(t, place, &Server{Window: func(context.Context, *Hello) (Window, error) {
		return func(ctx context.Context, in io.Reader, _ io.Writer) error {
			_, err := bufio.NewReader(in).ReadString('\n')
			close(taken)
			<-ctx.Done()
			return err
		}, nil
	}})
	c := newClient(t, &Shim{Join: func(ctx context.Context, hello *Hello) (*Conn, error) { return Dial(ctx, place, hello) }})
	c.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	<-taken
	go stop()
	line, err := c.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"the daemon was lost, and there is no other: no daemon is running`) {
		t.Errorf("got %q, %v", line, err)
	}
	if err := <-c.ended; !errors.Is(err, ErrNone) {
		t.Errorf("ended with %v", err)
	}
}

func TestHandshake(t *testing.T) {
	place := newPlace(t)
	if _, err := Dial(t.Context(), place, &Hello{}); !errors.Is(err, ErrNone) {
		t.Errorf("without a daemon: %v", err)
	}
	stop := serveAt(t, place, &Server{Version: "1.2.3", Window: echo})
	conn, err := Dial(t.Context(), place, &Hello{Environ: [][]byte{[]byte("A=" + strings.Repeat("a", 1<<20))}})
	if err != nil || conn.Version != "1.2.3" || conn.PID != os.Getpid() {
		t.Fatalf("%v, %+v", err, conn)
	}
	conn.Close()
	came := make(chan *Hello, 1)
	odd := []byte("A=\xff\x00")
	takes := newPlace(t)
	serveAt(t, takes, &Server{Window: func(ctx context.Context, hello *Hello) (Window, error) {
		came <- hello
		return echo(ctx, hello)
	}})
	if conn, err = Dial(t.Context(), takes, &Hello{Environ: [][]byte{odd}}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if got := <-came; !bytes.Equal(got.Environ[0], odd) {
		t.Errorf("an environment that is not UTF-8 came as %q", got.Environ)
	}
	var refused *RefusedError
	if _, err = Dial(t.Context(), place, &Hello{Folder: []byte("/refused")}); !errors.As(err, &refused) || refused.Reason != "config x: line 3 is wrong" {
		t.Errorf("a window that is refused: %v", err)
	}
	for line, want := range map[string]string{
		"hello\n":               `"error":"not a handshake: invalid character 'h' looking for beginning of value"`,
		"{\"mcpbridge\": 99}\n": `speaks another version of the handshake: end it with mcpbridge stop"`,
	} {
		raw, err := place.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(raw, line); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(raw); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%q was answered %s, %v", line, answer, err)
		}
	}
	stop()
	if _, err := Dial(t.Context(), place, &Hello{}); !errors.Is(err, ErrNone) {
		t.Errorf("after its end: %v", err)
	}
}

// TestNeverTwo holds that a second daemon gives way to the first, and waits for its end.
func TestNeverTwo(t *testing.T) {
	place := newPlace(t)
	stop := serveAt(t, place, &Server{Window: echo})
	if _, _, err := place.Listen(t.Context()); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: %v", err)
	}
	stop()
	release, err := place.lock(t.Context(), ".lock") // as one that is ending has it
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := place.Listen(ctx); err == nil || !strings.Contains(err.Error(), "another daemon for "+place.Config+" does not end") {
		t.Errorf("a second daemon: %v", err)
	}
	go release()
	serveAt(t, place, &Server{Window: echo})
}

// TestSucceed holds that until this process has ended nobody else starts a daemon, whatever the garbage collector frees.
func TestSucceed(t *testing.T) {
	place := newPlace(t)
	locked := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		release, err := place.lock(ctx, ".start")
		if err == nil {
			release()
		}
		return err != nil
	}
	if err := Succeed(t.Context(), place, filepath.Join(t.TempDir(), "none")); err == nil || locked() {
		t.Errorf("a daemon that cannot be started: %v", err)
	}
	executable, err := os.Executable()
	if err == nil {
		err = Succeed(t.Context(), place, executable, "-test.run=^$")
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if runtime.GC(); !locked() {
			t.Fatal("the lock was released")
		}
	}
}

// TestRunning holds that only what runs is found, and nothing is started by looking for it.
func TestRunning(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes go with their processes")
	}
	place := newPlace(t)
	keys := func() (keys []string) {
		places, err := Running()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			keys = append(keys, p.key)
		}
		return keys
	}
	own, err := OfProcess("")
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{own.file(".sock"), own.file(".lock"), place.file(".sock")} { // by what was killed, or by systemd
		if err := os.WriteFile(left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found := keys(); found != nil {
		t.Errorf("found %q", found)
	}
	if left, err := filepath.Glob(own.file("*")); err != nil || left != nil {
		t.Errorf("%q are left: %v", left, err)
	}
	if _, err := os.Stat(place.file(".sock")); err != nil {
		t.Errorf("the socket of systemd: %v", err)
	}
	serveAt(t, place, &Server{Window: echo})
	if found := keys(); len(found) != 1 || found[0] != place.key {
		t.Errorf("found %q", found)
	}
}

func TestIdleExit(t *testing.T) {
	place := newPlace(t)
	ln, release, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s := &Server{Window: echo, Log: slog.New(slog.DiscardHandler)}
	s.Set(Settings{IdleExit: time.Hour})
	ended := make(chan error)
	go func() { ended <- s.Serve(t.Context(), ln) }()
	conn, err := Dial(t.Context(), place, &Hello{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "a\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn.In).ReadString('\n'); line != "a\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s.Set(Settings{IdleExit: 10 * time.Millisecond})
	conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFolder holds that a folder which others can reach is of no use.
func TestFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	for range 2 {
		if err := ownFolder(folder); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(folder, 0o755); err != nil { // which the next round finds
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip(err)
	}
	if err := ownFolder(link); err == nil {
		t.Error("a link was taken for a folder")
	}
}

// A daemon that is older than profiles would let a window see all.
func TestProfile(t *testing.T) {
	place := newPlace(t)
	ln, release, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, `{"mcpbridge":1,"version":"0.9","pid":7}`+"\n")
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	var refused *RefusedError
	if _, err := Dial(t.Context(), place, &Hello{Profile: "some"}); !errors.As(err, &refused) ||
		refused.Reason != "the daemon (mcpbridge 0.9, pid 7) is older than profiles: end it with mcpbridge stop" {
		t.Errorf("an older daemon: %v", err)
	}
	conn, err := Dial(t.Context(), place, &Hello{})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
