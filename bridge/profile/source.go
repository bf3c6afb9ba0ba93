package profile

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Options are the settings of New. The zero value has no profiles: every caller sees all.
type Options struct {
	Profiles []Profile         // of several that fit a caller the first is its own
	Claims   map[string]string // hidden values that are claims of the caller: the claims, by lower-case names of the values
	Optional bool              // a caller has a profile only if it asks for one
	Log      *slog.Logger      // nil discards
}

// Of returns the name of the profile that a caller has; "" means none.
func (o *Options) Of(caller *bridge.Caller) string {
	if p, _ := o.choose(caller); p != nil {
		return p.Name
	}
	return ""
}

// New wraps a source. Opening it fails for a caller for whom there is no profile; the operator has one
// only if it asks for it. It may be used from many goroutines.
func New(source bridge.Source, opts Options) bridge.Source {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return &profiled{source, opts}
}

type profiled struct {
	source bridge.Source
	opts   Options
}

// Open implements bridge.Source.
func (s *profiled) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	p, fault := s.opts.choose(caller)
	if fault != nil {
		return nil, fault
	}
	below := *caller
	if len(s.opts.Claims) > 0 || p != nil && len(p.Context) > 0 {
		below.HiddenValue = s.hidden(p, caller)
	}
	if p == nil {
		return s.source.Open(ctx, &below)
	}
	below.Profile = p.Name
	narrows := p.narrows(bridge.Tools) || p.narrows(bridge.Prompts) || p.narrows(bridge.Resources)
	if narrows || len(p.Servers) > 0 {
		below.Members = func(name string) bool {
			return match.Any(p.Servers, name) && (caller.Members == nil || caller.Members(name))
		}
	}
	if !narrows {
		return s.source.Open(ctx, &below)
	}
	own := newSession(p, caller, s.opts.Log)
	below.Notify = own.notify
	opened, err := s.source.Open(ctx, &below)
	if err != nil {
		own.end()
		own.work.Wait()
		return nil, err
	}
	own.Session = opened
	close(own.opened)
	return own, nil
}

// choose returns the profile of a caller, nil for one without. The error tells nothing of profiles that
// are not for the caller.
func (o *Options) choose(caller *bridge.Caller) (*Profile, *toolformat.Error) {
	free := caller.Operator || o.Optional
	if caller.Profile == "" && (free || len(o.Profiles) == 0 && caller.Profiles == nil) {
		return nil, nil
	}
	for i := range o.Profiles {
		p := &o.Profiles[i]
		if (caller.Profile == "" || p.Name == caller.Profile) && (free || p.fits(caller)) {
			return p, nil
		}
	}
	if caller.Profile != "" {
		return nil, toolformat.Errorf(toolformat.NotFound, "unknown profile: %.100s", caller.Profile)
	}
	who := "a caller without a name"
	if caller.Principal.Name != "" {
		who = caller.Principal.Name
	}
	return nil, toolformat.Errorf(toolformat.Denied, "no profile of this bridge is for %.100s, who therefore sees nothing: whoever runs the bridge can add one", who)
}

// hidden returns Caller.HiddenValue for a caller with a profile, which may be nil.
func (s *profiled) hidden(p *Profile, caller *bridge.Caller) func(name string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		folded := strings.ToLower(name)
		if p != nil && p.Context[folded] != nil {
			return p.Context[folded], true
		}
		if claim, ok := s.opts.Claims[folded]; ok {
			value := wire.Lookup(caller.Claims, claim)
			return value, value != nil
		}
		if caller.HiddenValue == nil {
			return nil, false
		}
		return caller.HiddenValue(name)
	}
}
