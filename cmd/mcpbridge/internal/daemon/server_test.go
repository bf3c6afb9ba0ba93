package daemon

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialRaw connects to a place and writes what is given.
func dialRaw(t *testing.T, place Place, first string) net.Conn {
	t.Helper()
	conn, err := place.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, first); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestEndsBesideOthers holds that neither who has yet to say hello nor who does not read the output of a
// command keeps a daemon from ending.
func TestEndsBesideOthers(t *testing.T) {
	place := newPlace(t)
	full := make(chan struct{})
	stop := serveAt(t, place, &Server{Window: echo, Command: func(_ context.Context, _ *Command, out io.Writer) error {
		text := make([]byte, 64<<10)
		for n := 0; ; n++ {
			if n == 1 {
				close(full)
			}
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
	}})
	dialRaw(t, place, `{"mcpbridge":1,"command":{"name":"logs","follow":true}}`+"\n")
	<-full
	dialRaw(t, place, `{"mcpbridge":1`)
	began := time.Now()
	stop()
	if took := time.Since(began); took > helloTime/2 {
		t.Errorf("it took %s", took)
	}
}

// TestWindowLeavesAtOnce holds that a window which is not there to be welcomed is freed.
func TestWindowLeavesAtOnce(t *testing.T) {
	place := newPlace(t)
	left, freed := make(chan struct{}), make(chan struct{})
	serveAt(t, place, &Server{Window: func(context.Context, *Hello) (Window, error) {
		<-left
		return func(_ context.Context, in io.Reader, _ io.Writer) error {
			defer close(freed)
			_, err := io.Copy(io.Discard, in)
			return err
		}, nil
	}})
	dialRaw(t, place, `{"mcpbridge":1}`+"\n").Close()
	close(left)
	<-freed
}

// TestNotice holds that of the commands whose senders have left the notices are carried out.
func TestNotice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses a client of a named pipe before Accept is called")
	}
	place := newPlace(t)
	ln, release, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, line := range []string{`{"mcpbridge":1,"command":{"name":"stop"}}`, `{"mcpbridge":1,"command":{"name":"reload","notice":true}}`} {
		dialRaw(t, place, line+"\n").Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done []string
	s := &Server{Command: func(_ context.Context, command *Command, _ io.Writer) error {
		done = append(done, command.Name)
		cancel()
		return nil
	}}
	if err := s.Serve(ctx, ln); err != nil || len(done) != 1 || done[0] != "reload" {
		t.Errorf("%v are carried out: %v", done, err)
	}
}

// TestOutOfFiles holds that a daemon goes on when it had too many open files for a connection.
func TestOutOfFiles(t *testing.T) {
	place := newPlace(t)
	ln, release, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	full := &fullListener{Listener: ln}
	go func() { ended <- (&Server{Window: echo}).Serve(ctx, full) }()
	conn := dialRaw(t, place, `{"mcpbridge":1}`+"\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	conn.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// fullListener fails once for want of files.
type fullListener struct {
	net.Listener
	failed bool
}

func (l *fullListener) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestHalfAnAnswer holds that what a daemon has written of an answer when it is killed does not reach the
// client, which gets that of the next.
func TestHalfAnAnswer(t *testing.T) {
	place := newPlace(t)
	answering := func(text string) *Server {
		return &Server{Window: func(context.Context, *Hello) (Window, error) {
			return func(_ context.Context, in io.Reader, out io.Writer) error {
				lines := bufio.NewReader(in)
				if _, err := lines.ReadString('\n'); err != nil {
					return err
				}
				_, err := io.WriteString(out, text)
				if strings.HasSuffix(text, "\n") {
					_, err = io.Copy(io.Discard, lines)
				}
				return err
			}, nil
		}}
	}
	const whole = `{"jsonrpc":"2.0","id":1,"result":{"text":"whole"}}`
	stop := serveAt(t, place, answering(whole[:len(whole)-9]))
	c := newClient(t, &Shim{
		Join: func(ctx context.Context, hello *Hello) (*Conn, error) { return Dial(ctx, place, hello) },
		Lost: func(error) {
			stop()
			stop = serveAt(t, place, answering(whole+"\n"))
		},
	})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	c.gets(whole)
	c.in.Close()
	<-c.ended
}
