package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An API is the HTTP API of one vendor, as its clients speak it. It keeps nothing and may be used from
// many goroutines.
type API interface {
	// Read reads the body of a request, which may refer to items of earlier answers and to tools of servers: kept
	// returns an item by its id, or nil; named returns the name that models have for a server's tool. The error is
	// an *Error, or is for the client and begins with the path of the member that is wrong.
	Read(body []byte, kept func(id string) json.RawMessage, named func(server, tool string) string) (*Request, error)

	// Fail answers a request that was not read, or not let in.
	Fail(w http.ResponseWriter, e *Error)
}

// A Request is what a client asks of a model.
type Request struct {
	Model     string
	Fallbacks []string // the models that go on where it fails, which a gateway has named "models"; nil means none
	System    string
	Messages  []providers.Message
	Tools     *providers.ToolSet // the client's own
	Choice    providers.Choice
	Only      []providers.Selection // the tools that may be called; nil means all
	Select    []providers.Selection // the tools of the bridge that are offered; nil means all
	Must      *providers.Selection  // the tools of the bridge of which one must be called first; nil means that none must
	Stream    bool
	MaxCalls  int // of the bridge's tools; 0 means the bridge's own limit

	// Override applies the request to the default settings of its model. The error is for the client.
	Override func(*providers.Settings, providers.Provider) error

	// Format is that in which the API has tools. The raw items of Messages are of a provider with the same
	// format, and of no other.
	Format toolformat.Format

	Previous string // the Keep of an earlier request, which Messages continue; "" means they are the whole
	Keep     string // what a later request calls the conversation; "" means it is not kept

	CallPrefix string // begins the ids of calls that the client gets

	// Answer begins the response.
	Answer func(*Writer) Answer
}

// An Answer writes a response, streamed or not. Its methods are called one at a time, and none after Finish
// or Fail.
type Answer interface {
	Event(e providers.Event) // tells what happens in the run

	// KeepAlive writes what clients ignore to a stream that was silent for a while.
	KeepAlive()

	// Finish ends the response. calls are those of the client's own tools. Before the client can know that it has ended,
	// keep is called with the items that later requests may refer to, by their ids, if there are any.
	Finish(run *providers.Run, calls []*providers.Call, keep func(items map[string]json.RawMessage))

	Fail(e *Error)
}

// An Error is why a request fails. An API names its kind after the status.
type Error struct {
	Status  int
	Code    string        // the provider's, or the bridge's; may be ""
	Param   string        // the path of the member that is wrong; may be ""
	Message string        // for the client
	After   time.Duration // for the header Retry-After; 0 means none
	Details any           // for programs, in Anthropic's API; may be nil
}

func (e *Error) Error() string { return e.Message }

// Invalid returns err if it is an *Error, else the error of a request with a wrong member, whose path err begins
// with.
func Invalid(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Status: http.StatusBadRequest, Param: member.PathOf(err.Error()), Message: err.Error()}
}

// openAIError is the body of an error in OpenAI's APIs.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// OpenAIError returns an error in the form of OpenAI's APIs.
func OpenAIError(e *Error) any {
	body := openAIError{Message: e.Message, Type: "invalid_request_error"}
	switch {
	case e.Status == http.StatusTooManyRequests:
		body.Type = "rate_limit_error"
	case e.Status >= http.StatusInternalServerError:
		body.Type = "server_error"
	}
	if e.Param != "" {
		body.Param = &e.Param
	}
	if e.Code != "" {
		body.Code = &e.Code
	}
	return struct {
		Error *openAIError `json:"error"`
	}{&body}
}
