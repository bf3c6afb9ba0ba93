package load

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
)

// caller is one of the callers of a load.
type caller struct {
	Load
	session *client.Session
	request client.Request  // the last
	head    []byte          // of the params: all that is always the same
	text    []byte          // the payload; it begins with the digits of the call's id
	times   []time.Duration // of the calls that count
	firsts  []time.Duration // to the first byte of their answers
	bytes   int             // of their answers
}

// ids is how many ids each caller has.
const ids = 100_000_000

func (l Load) newCaller(i int, s *client.Session, tool string) *caller {
	return &caller{
		Load: l, session: s,
		request: client.Request{ID: int64(i+1) * ids, Method: "tools/call", Name: tool},
		head:    fmt.Appendf(nil, `{%s"name":%q,"arguments":{"text":"`, s.Meta, tool),
		text:    bytes.Repeat([]byte("x"), max(l.Payload, MinPayload)),
	}
}

// call calls until a time, at least once, and forgets what was measured before.
func (c *caller) call(ctx context.Context, end time.Time) error {
	c.times, c.firsts, c.bytes = c.times[:0], c.firsts[:0], 0
	for begun := time.Now(); ; {
		var err error
		if c.List {
			err = c.list()
		} else {
			err = c.echo()
		}
		if err != nil {
			return err
		}
		now := time.Now()
		c.times = append(c.times, now.Sub(begun))
		if ctx.Err() != nil || !now.Before(end) {
			return nil
		}
		begun = now
	}
}

// count counts an answer to a request that was sent at a time.
func (c *caller) count(a client.Answer, begun time.Time) {
	if !a.First.IsZero() {
		c.firsts = append(c.firsts, a.First.Sub(begun))
	}
	c.bytes += a.Bytes
}

// echo calls the tool and wants back what it sends.
func (c *caller) echo() error {
	r := &c.request
	r.ID++
	number(c.text, r.ID)
	r.Params = append(append(append(r.Params[:0], c.head...), c.text...), `"}}`...)
	begun := time.Now()
	answer, err := c.session.Call(r)
	if err != nil {
		return err
	}
	c.count(answer, begun)
	i := bytes.Index(answer.Result, c.text[:MinPayload])
	if i < 0 || !bytes.HasPrefix(answer.Result[i:], c.text) {
		return fmt.Errorf("the %d bytes of text that were sent did not come back in %.200q", len(c.text), answer.Result)
	}
	return nil
}

// number writes a number with leading zeros over the begin of a text.
func number(text []byte, n int64) {
	for i := MinPayload - 1; i >= 0; i-- {
		text[i] = byte('0' + n%10)
		n /= 10
	}
}

// list lists all tools and counts them, each of which has a schema.
func (c *caller) list() error {
	n, begun := 0, time.Now()
	err := c.session.List(&c.request, func(page client.Answer) error {
		c.count(page, begun)
		n += bytes.Count(page.Result, []byte(`"inputSchema"`))
		begun = time.Now()
		return nil
	})
	if err == nil && n < c.Tools {
		err = fmt.Errorf("a list of %d tools, not %d", n, c.Tools)
	}
	return err
}
