package providers

import "context"

// An Exchange is one turn on its way: a request as an API has it, and what reads the
// response.
type Exchange struct {
	Path    string   // of the API, such as /v1/messages
	Body    []byte   // JSON, with the members that the caller adds (Client.MergeBody)
	Notes   []string // what the caller should know of the body, such as a file that the API does not take
	Decoder Decoder
}

// A Decoder makes a turn of one response.
type Decoder interface {
	// Read reads a response to the end of its turn, and tells emit of text, thinking and
	// arguments as they come. Its error says that the turn is not whole: one of its own is
	// an *APIError (Unreadable, or what the provider says in a stream), and of a response
	// that ended before its turn did io.ErrUnexpectedEOF.
	Read(resp *Response, emit func(Event)) error

	// Turn is the turn of what has come, called once, after Read.
	Turn() *Turn
}

// Turn has one turn. It is all that a Provider does behind its encoder.
func (c *Client) Turn(ctx context.Context, x Exchange, emit func(Event)) (*Turn, error) {
	emit = emitter(emit)
	for _, note := range x.Notes {
		emit(Event{Type: EventNote, Text: note})
	}
	resp, err := c.Post(ctx, x.Path, x.Body, emit)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	err = x.Decoder.Read(resp, emit)
	turn := x.Decoder.Turn()
	if err != nil {
		turn.Stop, turn.Message.Raw = StopCut, nil // half a message is not to be sent back
		return turn, resp.brokeOff(ctx, err)
	}
	return turn, nil
}
