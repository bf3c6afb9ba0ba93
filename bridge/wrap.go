package bridge

import (
	"context"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Wrap makes a source in front of another one, which changes what its callers see or may do. For
// each session below, session returns one that embeds it and overrides List or Do, or the session
// below itself where nothing changes for that caller. On an error the session below is closed. The
// source below stays its owner's to close.
//
// List may return a list together with an error: the last one known of a source that is not
// connected. An override changes that list too and passes the error on.
func Wrap(source Source, session func(below Session, caller *Caller) (Session, error)) Source {
	return &wrapper{source, session}
}

type wrapper struct {
	source  Source
	session func(Session, *Caller) (Session, error)
}

func (w *wrapper) Open(ctx context.Context, caller *Caller) (Session, error) {
	below, err := w.source.Open(ctx, caller)
	if err != nil {
		return nil, err
	}
	s, err := w.session(below, caller)
	if err != nil {
		below.Close()
		return nil, err
	}
	return s, nil
}

// listTools returns the tools that a caller sees of a session, also while their source is away.
func listTools(ctx context.Context, s Session) (*List, *toolformat.Error) {
	l, err := s.List(ctx, Tools)
	switch {
	case l != nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, canceled(ctx.Err())
	}
	return nil, toolformat.AsError(err)
}
