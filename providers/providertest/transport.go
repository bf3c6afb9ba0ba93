package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// An Answer is what a Carrier answers a request with.
type Answer struct {
	Status int         // 0: 200
	Header http.Header // may be nil
	Body   io.Reader
}

// Say is an answer of a Content-Type.
func Say(kind, body string) Answer { return say(kind, strings.NewReader(body)) }

func say(kind string, body io.Reader) Answer {
	return Answer{Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// A Carrier is an http.RoundTripper without a network: it gives its answers one after
// another and keeps the requests. It is for one goroutine.
type Carrier struct {
	Answers  []Answer
	Requests []*http.Request
	Bodies   [][]byte // of the requests
}

// Client is an http.Client over the carrier.
func (c *Carrier) Client() *http.Client { return &http.Client{Transport: c} }

// RoundTrip gives the next answer; an error when there is none left.
func (c *Carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.Requests, c.Bodies = append(c.Requests, r), append(c.Bodies, body)
	if len(c.Answers) == 0 {
		return nil, errors.New("no answer is left")
	}
	a := c.Answers[0]
	c.Answers = c.Answers[1:]
	resp := &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(&carried{a.Body, r.Context()}), Request: r}
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	return resp, nil
}

// carried is a body that ends with its request, as one of net/http does.
type carried struct {
	io.Reader
	ctx context.Context
}

func (c *carried) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// pieces reads data in pieces that end at the places given, in order; those outside of it
// do not count.
func pieces(data []byte, cuts ...int) io.Reader {
	var all []io.Reader
	from := 0
	for _, cut := range append(cuts, len(data)) {
		if cut > from && cut <= len(data) {
			all = append(all, bytes.NewReader(data[from:cut]))
			from = cut
		}
	}
	return io.MultiReader(all...)
}
