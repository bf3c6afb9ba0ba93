package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

const (
	callsEvery  = 200 * time.Millisecond // how often calls that have ended are sent
	knownEvery  = 5 * time.Second        // how often it is asked whether the reader may stay
	callsTime   = 10 * time.Second       // that a reader may take for an event
	maxContents = 4 << 20                // bytes of contents that wait for the next event
)

// serveCalls streams the calls that have ended.
func (o *Options) serveCalls(w http.ResponseWriter, r *http.Request) {
	out := &events{ResponseController: http.NewResponseController(w), w: w}
	w.Header().Set("Content-Type", "text/event-stream")
	var held contents
	if r.URL.Query().Get("contents") == "1" {
		reader := o.Calls.Read(observe.Reading{Arguments: true, Results: true, Every: callsEvery}, held.add)
		defer reader.Close()
	}
	clock := time.NewTicker(callsEvery)
	defer clock.Stop()
	out.send("begin", []byte("{}"))
	next, known := 0, time.Now()
	for out.err == nil {
		var calls []observe.Call
		if calls, next = o.Recent(next); len(calls) > 0 {
			out.send("calls", appendCalls(nil, calls))
		}
		if all := held.take(); all != nil {
			out.send("contents", all)
		}
		select {
		case <-clock.C:
		case <-r.Context().Done():
			if !o.Knows(r) { // which is why it is done
				out.send("end", []byte("{}"))
			}
			return
		}
		if time.Since(known) >= knownEvery {
			if known = time.Now(); !o.Knows(r) {
				out.send("end", []byte("{}"))
				return
			}
			out.send("alive", []byte("{}"))
		}
	}
}

// events writes server-sent events.
type events struct {
	*http.ResponseController
	w   http.ResponseWriter
	err error
}

func (e *events) send(name string, data []byte) {
	if e.err != nil {
		return
	}
	e.SetWriteDeadline(time.Now().Add(callsTime))
	if _, e.err = e.w.Write(append(append([]byte("event: "+name+"\ndata: "), data...), "\n\n"...)); e.err == nil {
		e.err = e.Flush()
	}
}

func appendCalls(dst []byte, calls []observe.Call) []byte {
	for i := range calls {
		dst = append(dst, separator(len(dst)))
		dst = strconv.AppendInt(append(dst, `{"number":`...), calls[i].Number, 10)
		dst = append(calls[i].AppendJSON(append(dst, `,"call":`...)), '}')
	}
	return append(dst, ']')
}

// separator returns what stands before the next element of a JSON array that has some bytes.
func separator(size int) byte {
	if size == 0 {
		return '['
	}
	return ','
}

// contents are the arguments and results of calls that wait to be sent, without those that exceed
// maxContents.
type contents struct {
	mu   sync.Mutex // guards text
	text []byte     // a JSON array that lacks its end
}

func (c *contents) add(calls []observe.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range calls {
		if len(c.text)+len(calls[i].Arguments)+len(calls[i].Result) > maxContents {
			continue
		}
		one, err := json.Marshal(struct {
			Number    int64           `json:"number"`
			Arguments json.RawMessage `json:"arguments,omitempty"`
			Result    json.RawMessage `json:"result,omitempty"`
		}{calls[i].Number, calls[i].Arguments, calls[i].Result})
		if err != nil {
			continue
		}
		c.text = append(append(c.text, separator(len(c.text))), one...)
	}
}

// take returns what waits, on one line; nil for nothing.
func (c *contents) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.text
	if c.text = nil; all == nil {
		return nil
	}
	return append(all, ']')
}
