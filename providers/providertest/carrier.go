package providertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// An Answer is what a Carrier answers a request with.
type Answer struct {
	Status int         // 0: 200
	Header http.Header // may be nil
	Body   io.Reader
}

// NewAnswer is the recorded answer of an exchange, in pieces that end at the places given.
func NewAnswer(e *Exchange, cuts ...int) Answer {
	kind := "application/json"
	if e.SSE {
		kind = "text/event-stream"
	}
	return Answer{Status: e.Status, Header: http.Header{"Content-Type": {kind}}, Body: Pieces(e.Body(), cuts...)}
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
	resp := &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(a.Body), Request: r}
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	return resp, nil
}

// Pieces reads data in pieces that end at the places given, in order; those outside of it
// do not count.
func Pieces(data []byte, cuts ...int) io.Reader {
	var pieces []io.Reader
	from := 0
	for _, cut := range append(cuts, len(data)) {
		if cut > from && cut <= len(data) {
			pieces = append(pieces, bytes.NewReader(data[from:cut]))
			from = cut
		}
	}
	return io.MultiReader(pieces...)
}
