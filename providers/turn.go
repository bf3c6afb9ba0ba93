package providers

import "context"

// An Exchange is one turn in the form of an API: its request, and the reader of the response.
type Exchange struct {
	Path    string   // of the API, such as /v1/messages
	Body    []byte   // JSON, after Client.MergeBody
	Notes   []string // for the caller, such as about a file that the API does not take
	Decoder Decoder
}

// A Decoder makes a turn of one response.
type Decoder interface {
	// Read reads a response to the end of its turn and emits text, thinking and arguments
	// as they arrive. An error means that the turn is incomplete: an *APIError (Unreadable,
	// or the provider's error within a stream), or io.ErrUnexpectedEOF if the response ended
	// before its turn.
	Read(resp *Response, emit func(Event)) error

	// Turn returns the turn as far as it was read. It is called once, after Read.
	Turn() *Turn
}

// Turn sends the request of an exchange and decodes the response. It is the whole of a
// Provider's Turn after its encoder.
func (c *Client) Turn(ctx context.Context, x Exchange, emit func(Event)) (*Turn, error) {
	emit = emitter(emit)
	for _, note := range x.Notes {
		emit(Event{Type: EventNote, Text: note})
	}
	resp, err := c.post(ctx, x.Path, x.Body, emit)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	err = x.Decoder.Read(resp, emit)
	turn := x.Decoder.Turn()
	if err != nil {
		turn.Stop, turn.Message.Raw = StopCut, nil // half a message must not be sent back
		return turn, resp.brokeOff(ctx, err)
	}
	return turn, nil
}
