package observe

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// way is a request on its way down, with what is noted of it meanwhile: how long its caller is asked, when it is
// told of progress, and how much of its result has been taken, should that break off.
type way struct {
	bridge.Request
	back  bridge.Back
	take  bridge.Taker
	begun time.Time
	taken int

	mu     sync.Mutex // guards what follows
	asking int        // questions without an answer
	since  time.Time  // when the first of them was asked
	waited time.Duration
	first  time.Duration // after begun, of the first progress; 0 means none
}

func newWay(req *bridge.Request, begun time.Time) *way {
	w := &way{Request: *req, back: req.Back, take: req.Take, begun: begun}
	if req.Back != nil {
		w.Request.Back = (*backWay)(w)
	}
	if req.Take != nil {
		w.Request.Take = (*takenWay)(w)
	}
	return w
}

// takenWay implements bridge.Taker.
type takenWay way

func (w *takenWay) Take(part []byte) bool {
	if !w.take.Take(part) {
		return false
	}
	w.taken += len(part)
	return true
}

// backWay implements bridge.Back.
type backWay way

func (w *backWay) Notify(method string, params []byte) {
	if method == wire.NotificationProgress {
		w.mu.Lock()
		if w.first == 0 {
			w.first = max(time.Since(w.begun), 1)
		}
		w.mu.Unlock()
	}
	w.back.Notify(method, params)
}

func (w *backWay) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	w.mu.Lock()
	if w.asking++; w.asking == 1 {
		w.since = time.Now()
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.asking--; w.asking == 0 {
			w.waited += time.Since(w.since)
		}
	}()
	return w.back.Ask(ctx, method, params)
}

// times returns how long answers of the caller were awaited, up to now, and when it was told of progress first.
func (w *way) times() (asked, first time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking > 0 {
		return w.waited + time.Since(w.since), w.first
	}
	return w.waited, w.first
}
