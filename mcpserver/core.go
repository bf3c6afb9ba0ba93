package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// core is what sessions, views and exchanges know of their Server: its source, its options and
// its lifetime.
type core struct {
	source bridge.Source
	opts   Options

	ctx  context.Context // ends with the Server
	stop context.CancelFunc
	work sync.WaitGroup // goroutines that Close waits for

	mu     sync.Mutex // guards closed
	closed bool
}

// start runs f in a goroutine that Close waits for, and reports false when the Server is closed.
func (c *core) start(f func()) bool {
	open := c.addWork()
	if open {
		go func() {
			defer c.work.Done()
			f()
		}()
	}
	return open
}

// addWork makes Close wait until work.Done is called, and reports false when the Server is closed.
func (c *core) addWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Add(1)
	}
	return !c.closed
}

var (
	errCancelled = errors.New("canceled by the client")      // why a request ends
	errEnded     = errors.New("the session has ended")       // why a session's requests end
	errClosing   = errors.New("the bridge is shutting down") // why a Server's connections end
)

func unavailable(format string, args ...any) *toolformat.Error {
	return toolformat.Errorf(toolformat.Unavailable, format, args...)
}

// shuttingDown is the answer to requests that come too late; cause, if any, is for the log.
func shuttingDown(cause error) *toolformat.Error {
	return unavailable("%v", errClosing).Because(cause)
}

// idleEnough is how long a session or a view must be unused to make room for a new one.
const idleEnough = time.Minute

// newID makes an identifier that cannot be guessed: 130 random bits.
func newID() string { return rand.Text() }
