package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
)

// peerNote is what one node tells another about a session, or a ticket. One of the members after the first says what.
type peerNote struct {
	Session string `json:"session,omitempty"`

	Guest  string `json:"guest,omitempty"`  // the run that asks to answer its calls
	Sender []byte `json:"sender,omitempty"` // digest of their sender

	Cancel  json.RawMessage `json:"cancel,omitempty"`  // the raw id of a call that is canceled
	Ended   bool            `json:"ended,omitempty"`   // the session has
	Changed bool            `json:"changed,omitempty"` // what holds for its calls: ask again

	Unusable string `json:"unusable,omitempty"` // why the answer to a question is not
	Head     []byte `json:"head,omitempty"`     // the beginning of that
	Tail     []byte `json:"tail,omitempty"`     // and its end

	// In the answer to Guest:
	Level string `json:"level,omitempty"` // of its log
	Holds int64  `json:"holds,omitempty"` // for how long the answer does, in ms since the question

	Ticket string        `json:"ticket,omitempty"` // that is redeemed
	Holder *ticketHolder `json:"holder,omitempty"` // in the answer, if it is valid
}

// sessionPath is where nodes tell each other of sessions.
const sessionPath = peerPath + "/session"

// maxNote bounds a note, in bytes.
const maxNote = 64 << 10

// maxTold bounds any other answer of a node, in bytes.
const maxTold = 16 << 20

// Ask returns what the handler of Options.Peers at a path of another run answers, at most 16 MiB. Any status but 200 is
// an error.
func (s *Server) Ask(ctx context.Context, run, path string) ([]byte, error) {
	return s.ask(ctx, run, "", http.MethodGet, path, nil, maxTold)
}

// tell sends a note to a run, and returns the answer.
func (s *Server) tell(ctx context.Context, run string, note peerNote) (answer peerNote, err error) {
	body, _ := json.Marshal(note) // cannot fail
	key := ""
	if note.Guest != "" { // is for whoever goes on with the session
		key = note.Session
	}
	told, err := s.ask(ctx, run, key, http.MethodPost, sessionPath, body, maxNote)
	if err == nil {
		err = json.Unmarshal(told, &answer)
	}
	return answer, err
}

// ask sends a request of this node's own to a run, and returns the answer, of at most some bytes.
func (s *Server) ask(ctx context.Context, run, key, method, path string, body []byte, most int) (answer []byte, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler: // the answer broke off
			err = errors.New("no answer")
		default:
			panic(p)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, method, "http://node"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	w := &toldWriter{header: http.Header{}, room: most}
	if _, err = s.opts().Nodes.Forward(w, r, run, key); err != nil {
		return nil, err
	}
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", w.status)
	}
	return w.body.Bytes(), nil
}

// toldWriter keeps what another node answers.
type toldWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
	room   int // in bytes
}

func (w *toldWriter) Header() http.Header    { return w.header }
func (w *toldWriter) WriteHeader(status int) { w.status = status }

func (w *toldWriter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, io.ErrShortWrite
	}
	return w.body.Write(b)
}

// serveNote takes a note of another node.
func (s *Server) serveNote(w http.ResponseWriter, r *http.Request) {
	var note peerNote
	w.Header().Set("Connection", "close") // its stream may be kept for plain requests of the session
	if !forwarded(r.Context()) || json.NewDecoder(http.MaxBytesReader(w, r.Body, maxNote)).Decode(&note) != nil {
		http.NotFound(w, r)
		return
	}
	var answer peerNote
	switch {
	case note.Guest != "":
		var status int
		if answer, status = s.letAnswer(&note); status != http.StatusOK {
			http.Error(w, "no", status)
			return
		}
	case note.Ticket != "":
		answer.Holder = s.redeemHere(note.Ticket)
	case note.Unusable != "":
		s.failHere(&note)
	case note.Ended:
		for _, ended := range s.sessions.dropGuests(func(id string, _ *guest) bool { return id == note.Session }) {
			ended.end(errEnded)
		}
	default:
		var host *session
		s.sessions.mu.Lock()
		if g := s.sessions.guests[note.Session]; g != nil {
			if host = g.session; note.Changed {
				g.until, g.calls = time.Time{}, guestAfter // the next call asks
			}
		}
		s.sessions.mu.Unlock()
		if host != nil && note.Cancel != nil {
			host.cancelRequest(string(note.Cancel), errCancelled)
		}
	}
	json.NewEncoder(w).Encode(answer)
}

// failElsewhere tells the run that has asked a question that the answer to it is not usable, and reports whether that is
// another one.
func (s *Server) failElsewhere(r *http.Request, sender identity, id string, note peerNote) bool {
	raw, is := lenient.Envelope(note.Head, note.Tail)
	if is == lenient.Request || id == "" {
		return false
	}
	text, _ := wire.Text(raw)
	mark, _ := cutMark(text)
	f := &forwarding{server: s, key: id}
	_, run, own := f.open(sender)
	switch {
	case mark != "":
		run = s.openMark(mark)
	case s.sessions.has(id):
		return false
	}
	if !own || run == "" {
		return false
	}
	ctx, done := context.WithTimeout(r.Context(), bindTime)
	defer done()
	digest := sender.digest()
	note.Session, note.Sender = id, digest[:]
	_, err := s.tell(ctx, run, note)
	return err == nil
}

// failHere ends the question that an answer to another node names.
func (s *Server) failHere(note *peerNote) {
	s.sessions.mu.Lock()
	asked := s.sessions.sessions[note.Session]
	if g := s.sessions.guests[note.Session]; asked == nil && g != nil {
		asked = g.session
	}
	s.sessions.mu.Unlock()
	if asked == nil {
		return
	}
	if digest := asked.sender.digest(); bytes.Equal(digest[:], note.Sender) {
		asked.questions.fail(note.Head, note.Tail, errors.New(note.Unusable))
	}
}
