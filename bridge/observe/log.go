package observe

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// Log writes a line of the log, at the level Debug, for each call from now on. The Reader must be closed.
func Log(s *Stream, log *slog.Logger) *Reader {
	return s.Read(Reading{}, func(calls []Call) {
		for i := range calls {
			_ = log.Handler().Handle(context.Background(), record(&calls[i])) // as slog does
		}
	})
}

// record returns the record of a call, with the time at which it ended.
func record(c *Call) slog.Record {
	r := slog.NewRecord(c.Time.Add(c.Took), slog.LevelDebug, "call", 0)
	text := func(key, value string) {
		if value != "" {
			r.AddAttrs(slog.String(key, value))
		}
	}
	text("method", c.Method)
	text("target", c.Target)
	text("server", c.Server)
	r.AddAttrs(slog.Duration("took", c.Took.Round(time.Microsecond)))
	if c.Asked > 0 {
		r.AddAttrs(slog.Duration("asked", c.Asked.Round(time.Microsecond)))
	}
	if c.Queued > 0 {
		r.AddAttrs(slog.Duration("queued", c.Queued.Round(time.Microsecond)))
	}
	if c.First > 0 {
		r.AddAttrs(slog.Duration("progress", c.First.Round(time.Microsecond)))
	}
	r.AddAttrs(slog.Int("in", c.In), slog.Int("out", c.Out))
	if c.Sent > 0 {
		r.AddAttrs(slog.Int("sent", c.Sent))
	}
	if c.Received > 0 {
		r.AddAttrs(slog.Int("received", c.Received))
	}
	r.AddAttrs(slog.String("outcome", string(c.Outcome)))
	text("reason", c.Reason)
	if c.Decision != nil {
		text("decision", c.Decision.Verdict)
		text("rule", c.Decision.Rule)
		text("by", c.Decision.By)
		text("found", strings.Join(c.Decision.Found, "; "))
	}
	r.AddAttrs(slog.Int64("session", c.Caller.Session))
	text("principal", c.Caller.Principal)
	text("profile", c.Profile)
	text("client", strings.TrimSpace(c.Caller.Client+" "+c.Caller.Version))
	text("model", c.Model)
	if c.Lost > 0 {
		r.AddAttrs(slog.Int("lost", c.Lost))
	}
	return r
}
