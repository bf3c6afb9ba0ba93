package load

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// caller is one of the callers of a run.
type caller struct {
	*run
	session client.Session
	request client.Request // the last
	head    []byte         // of the params: all that is always the same
	text    []byte         // the payload; it begins with the digits of the call's id
	params  []byte
	times   []time.Duration // of the calls that count
	firsts  []time.Duration // to the first byte of their answers
	bytes   int             // of their answers
}

// ids is how many ids each caller has.
const ids = 100_000_000

func (r *run) newCaller(i int, s client.Session, tool string) *caller {
	c := &caller{run: r, session: s, request: client.Request{ID: int64(i+1) * ids}}
	meta := client.Meta(r.Target.Revision)
	if r.List {
		c.request.Method = "tools/list"
		c.head = []byte("{" + meta)
	} else {
		c.request.Method, c.request.Name = "tools/call", tool
		c.head = fmt.Appendf(nil, `{%s"name":%q,"arguments":{"text":"`, meta, tool)
		c.text = bytes.Repeat([]byte("x"), max(r.Payload, MinPayload))
	}
	return c
}

// work calls until the run is stopped, at least once. What it calls before the run begins does not count.
func (c *caller) work(warm *sync.WaitGroup) {
	one := c.echo
	if c.List {
		one = c.list
	}
	var err error
	for end := time.Now().Add(c.Warm); err == nil && time.Now().Before(end); {
		err = one()
	}
	warm.Done()
	<-c.begin
	c.bytes, c.firsts = 0, nil
	for first := true; err == nil && (first || !c.stop.Load()); first = false {
		begun := time.Now()
		if err = one(); err == nil {
			c.times = append(c.times, time.Since(begun))
		}
	}
	if err != nil {
		c.fail(err)
	}
}

// do sends the next request with these params and returns its result, valid until the next.
func (c *caller) do(params []byte) ([]byte, error) {
	c.params = params
	r := &c.request
	r.Message = client.AppendRequest(r.Message[:0], r.ID, r.Method, params)
	begun := time.Now()
	answer, err := c.session.Do(*r)
	if err != nil {
		return nil, err
	}
	if !answer.First.IsZero() {
		c.firsts = append(c.firsts, answer.First.Sub(begun))
	}
	c.bytes += len(answer.Message)
	return client.Result(answer.Message)
}

// echo calls the tool and wants back what it sends.
func (c *caller) echo() error {
	c.request.ID++
	number(c.text, c.request.ID)
	result, err := c.do(append(append(append(c.params[:0], c.head...), c.text...), `"}}`...))
	if err == nil {
		err = checkText(result, c.text)
	}
	return err
}

// number writes a number with leading zeros over the begin of a text.
func number(text []byte, n int64) {
	for i := MinPayload - 1; i >= 0; i-- {
		text[i] = byte('0' + n%10)
		n /= 10
	}
}

// checkText reports whether a result has the text that was sent, all of it.
func checkText(result, text []byte) error {
	i := bytes.Index(result, text[:MinPayload])
	if i >= 0 && bytes.HasPrefix(result[i:], text) {
		return nil
	}
	return fmt.Errorf("the %d bytes of text that were sent did not come back in %.200q", len(text), result)
}

// list lists all tools, page by page, and counts them.
func (c *caller) list() error {
	n := 0
	for cursor := ""; ; {
		c.request.ID++
		params := append(c.params[:0], c.head...)
		if cursor != "" {
			params = append(append(params, `"cursor":`...), cursor...)
		}
		result, err := c.do(append(bytes.TrimSuffix(params, []byte(",")), '}'))
		if err != nil {
			return err
		}
		n += raw.Count(raw.Get(result, "tools"))
		cursor = string(raw.Get(result, "nextCursor"))
		if cursor == "" || cursor == "null" || cursor == `""` {
			break
		}
	}
	if n < c.Tools {
		return fmt.Errorf("a list of %d tools, not %d", n, c.Tools)
	}
	return nil
}
