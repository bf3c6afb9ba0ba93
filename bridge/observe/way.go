package observe

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// way is a request on its way down, with what is noted of it meanwhile: how long its caller is asked,
// and how much of its result has been taken, should that break off.
type way struct {
	bridge.Request
	back  bridge.Back
	take  bridge.Taker
	taken int

	mu     sync.Mutex // guards what follows
	asking int        // questions without an answer
	since  time.Time  // when the first of them was asked
	waited time.Duration
}

func newWay(req *bridge.Request, askable bool) *way {
	w := &way{Request: *req, back: req.Back, take: req.Take}
	if askable && req.Back != nil {
		w.Request.Back = (*askedWay)(w)
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

// askedWay implements bridge.Back.
type askedWay way

func (w *askedWay) Notify(method string, params []byte) { w.back.Notify(method, params) }

func (w *askedWay) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
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

// asked returns how long answers of the caller were awaited, up to now.
func (w *way) asked() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking > 0 {
		return w.waited + time.Since(w.since)
	}
	return w.waited
}
