package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// An Answer is the response of a Transport to a request.
type Answer struct {
	Status int         // 0 means 200
	Header http.Header // may be nil
	Body   io.Reader
}

// NewAnswer returns an answer with a Content-Type.
func NewAnswer(kind, body string) Answer { return newAnswer(kind, strings.NewReader(body)) }

func newAnswer(kind string, body io.Reader) Answer {
	return Answer{Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// A Transport is an http.RoundTripper without a network: it returns its answers in order and
// records the requests. It is for one goroutine.
type Transport struct {
	Answers  []Answer
	Requests []*http.Request
	Bodies   [][]byte // of the requests
}

// Client returns an http.Client over the transport.
func (c *Transport) Client() *http.Client { return &http.Client{Transport: c} }

// RoundTrip returns the next answer, or an error if none is left.
func (c *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
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
	resp := &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(&boundBody{a.Body, r.Context()}), Request: r}
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	return resp, nil
}

// A boundBody ends with its request, as bodies of net/http do.
type boundBody struct {
	io.Reader
	ctx context.Context
}

func (c *boundBody) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// pieces returns a reader of data in pieces that end at the given offsets, which are in order.
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
