package messages

// start ends the last block and begins another one.
func (a *answer) start(b *outBlock) {
	a.end()
	a.open, a.blocks = b, append(a.blocks, b)
	if !a.stream {
		return
	}
	a.sendStart()
	a.Send("content_block_start", struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}{"content_block_start", len(a.blocks) - 1, b.content(true)})
}

// end ends the last block, if it is open.
func (a *answer) end() {
	if a.open == nil {
		return
	}
	a.open = nil
	if !a.stream {
		return
	}
	a.Send("content_block_stop", struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}{"content_block_stop", len(a.blocks) - 1})
}

// sendStart sends the start of the message, once.
func (a *answer) sendStart() {
	if a.Begun() {
		return
	}
	a.Send("message_start", struct {
		Type    string      `json:"type"`
		Message *outMessage `json:"message"`
	}{"message_start", &a.head})
}

// sendDelta sends a piece of the open block: its member of a name.
func (a *answer) sendDelta(kind, member, piece string) {
	if !a.stream {
		return
	}
	a.Send("content_block_delta", struct {
		Type  string            `json:"type"`
		Index int               `json:"index"`
		Delta map[string]string `json:"delta"`
	}{"content_block_delta", len(a.blocks) - 1, map[string]string{"type": kind, member: piece}})
}

// sendEnd sends the end of the message.
func (a *answer) sendEnd(end ending, u usage) {
	a.sendStart()
	a.Send("message_delta", struct {
		Type  string `json:"type"`
		Delta ending `json:"delta"`
		Usage usage  `json:"usage"`
	}{"message_delta", end, u})
	a.Send("message_stop", struct {
		Type string `json:"type"`
	}{"message_stop"})
}

// KeepAlive sends a ping, which clients ignore.
func (a *answer) KeepAlive() {
	a.sendStart()
	a.Send("ping", struct {
		Type string `json:"type"`
	}{"ping"})
}
