package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
)

// sharedBook is a fleet.Book, of this program or of the node that it asks.
type sharedBook interface {
	fleet.Changeable
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
}

// bookTime bounds a question to a book.
const bookTime = 2 * time.Second

// bookCall is a call of a method of a sharedBook, as a command has it, and bookAnswer what it returns.
type bookCall struct {
	Book     string        `json:"book"`
	Method   string        `json:"method"` // get, add or change
	Key      string        `json:"key"`
	Value    []byte        `json:"value"`
	Revision uint64        `json:"revision,omitempty"`
	Keep     time.Duration `json:"keep,omitempty"`
}

type bookAnswer struct {
	Node     bool   `json:"node"` // the program is a node with that book
	Value    []byte `json:"value"`
	Revision uint64 `json:"revision,omitempty"`
	Changed  bool   `json:"changed,omitempty"`
	Error    string `json:"error,omitempty"`
}

// answerBook answers a command that has a bookCall; c may be nil.
func (c *cluster) answerBook(ctx context.Context, text []byte) (a bookAnswer) {
	var call bookCall
	var book *fleet.Book
	if err := json.Unmarshal(text, &call); err == nil && c != nil {
		book = c.books[call.Book]
	}
	if book == nil {
		return bookAnswer{}
	}
	ctx, cancel := context.WithTimeout(ctx, bookTime)
	defer cancel()
	err := error(nil)
	switch a.Node = true; call.Method {
	case "get":
		a.Value, a.Revision, err = book.Get(ctx, call.Key)
	case "add":
		a.Value, a.Revision, err = book.Add(ctx, call.Key, call.Value, call.Keep)
	case "change":
		a.Revision, a.Changed, err = book.Change(ctx, call.Key, call.Value, call.Revision, call.Keep)
	default:
		err = errors.New("the node is of another version")
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// bookRetry is after how long what could not be done with a book is tried again.
const bookRetry = time.Second

// keepDoing calls do whenever again is called, and until it succeeds, one call at a time, until ctx ends.
func keepDoing(ctx context.Context, do func() error) (again func()) {
	wanted := make(chan struct{}, 1)
	again = func() {
		select {
		case wanted <- struct{}{}:
		default:
		}
	}
	go func() {
		for {
			select {
			case <-wanted:
			case <-ctx.Done():
				return
			}
			if do() == nil {
				continue
			}
			select {
			case <-time.After(bookRetry):
				again()
			case <-ctx.Done():
			}
		}
	}()
	return again
}

// remoteBook is a book of the node that runs with a config on this machine.
type remoteBook struct{ config, name string }

// call has a node answer a call.
func (b remoteBook) call(ctx context.Context, call bookCall) (a bookAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	call.Book = b.name
	text, _ := json.Marshal(call) // cannot fail
	r := &remote{config: b.config, patience: bookTime / 2}
	own, err := daemon.OfProcess(b.config)
	if err != nil {
		return a, err
	}
	r.config = own.Config
	places, err := daemon.Running()
	for _, place := range places { // one after the other: a call counts once
		a = bookAnswer{}
		_, away := r.askOne(ctx, place, &daemon.Command{Name: "book", Book: text}, func(line []byte) error { return json.Unmarshal(line, &a) })
		err = cmp.Or(err, away)
		if a.Node && a.Error != "" {
			return a, errors.New(a.Error)
		}
		if a.Node {
			return a, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("no node of the cluster runs here with %s (mcpbridge serve is one)", b.config)
	}
	return a, err
}

// Get implements sharedBook.
func (b remoteBook) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	a, err := b.call(ctx, bookCall{Method: "get", Key: key})
	return a.Value, a.Revision, err
}

// Add implements sharedBook.
func (b remoteBook) Add(ctx context.Context, key string, value []byte, keep time.Duration) (existing []byte, revision uint64, err error) {
	a, err := b.call(ctx, bookCall{Method: "add", Key: key, Value: value, Keep: keep})
	return a.Value, a.Revision, err
}

// Change implements sharedBook.
func (b remoteBook) Change(ctx context.Context, key string, value []byte, revision uint64, keep time.Duration) (next uint64, changed bool, err error) {
	a, err := b.call(ctx, bookCall{Method: "change", Key: key, Value: value, Revision: revision, Keep: keep})
	return a.Revision, a.Changed, err
}
