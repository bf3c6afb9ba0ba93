package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// SamplingOptions configure a Sampling.
type SamplingOptions struct {
	// Model returns the model to ask, and its default settings. hints are names of models,
	// or parts of names, that the server prefers, the best first.
	Model func(hints []string) (providers.Candidate, providers.Settings, error)

	Loop      providers.Options // only StandIn and Toolless are used
	MaxTokens int               // bounds the tokens of an answer; 0 means 16,384
	AtOnce    int               // requests in progress, beyond which they wait within Timeout; 0 means 4
	PerMinute int               // requests in a minute, beyond which they are refused; 0 means 60
	Timeout   time.Duration     // of a request; 0 means 5 min
	Log       *slog.Logger      // nil discards the log
}

// A Sampling answers the requests of an MCP server for an answer of a language model
// (sampling/createMessage of revision 2025-11-25), in place of a client. The model gets only
// the tools in a request, whose calls go back to the server. It may be used from many
// goroutines.
type Sampling struct {
	opts    SamplingOptions
	rounds  *hiddenRounds
	limiter *bridge.Limiter // of requests

	mu     sync.Mutex  // guards recent
	recent []time.Time // the times of the requests of the last minute
}

// maxWaiting bounds the requests that wait.
const maxWaiting = 1000

// NewSampling makes a Sampling for one server.
func NewSampling(o SamplingOptions) *Sampling {
	o.MaxTokens = cmp.Or(o.MaxTokens, 16_384)
	o.AtOnce = cmp.Or(o.AtOnce, 4)
	o.PerMinute = cmp.Or(o.PerMinute, 60)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Sampling{opts: o, rounds: newHiddenRounds(16<<20, &Options{NewID: rand.Text}), limiter: bridge.NewLimiter("sampling is", o.AtOnce, maxWaiting)}
}

// CreateMessage answers a request: params are MCP's CreateMessageRequestParams, the result is
// its CreateMessageResult. The error is for the server; its cause is logged.
func (s *Sampling) CreateMessage(ctx context.Context, params []byte) (result []byte, failed *toolformat.Error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a sampling request panicked", "panic", p, "stack", string(debug.Stack()))
			failed = samplingError(wire.InternalError, "internal error")
		}
	}()
	req, err := readSampling(params)
	if err != nil {
		return nil, samplingError(wire.InvalidParams, err.Error())
	}
	if !s.admit(time.Now()) {
		return nil, samplingError(wire.InternalError, fmt.Sprintf("too many sampling requests: at most %d a minute", s.opts.PerMinute))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout)
	defer cancel()
	if busy := s.limiter.Enter(ctx, bridge.Principal{}, 2*s.opts.Timeout); busy != nil { // ctx ends first
		return nil, s.failed(ctx, busy)
	}
	defer s.limiter.Leave(bridge.Principal{})
	result, err = s.answer(ctx, req)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return result, nil
}

var (
	errTimeout      = errors.New("the request timed out")
	errStopSequence = errors.New("the answer has a stop sequence")
)

// admit counts a request. It reports false beyond PerMinute.
func (s *Sampling) admit(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.recent) > 0 && now.Sub(s.recent[0]) >= time.Minute {
		s.recent = s.recent[1:]
	}
	if len(s.recent) >= s.opts.PerMinute {
		return false
	}
	s.recent = append(s.recent, now)
	return true
}

// answer asks the model.
func (s *Sampling) answer(ctx context.Context, req *samplingRequest) ([]byte, error) {
	chosen, settings, err := s.opts.Model(req.hints())
	if err != nil {
		return nil, err
	}
	settings.MaxTokens = least(req.MaxTokens, settings.MaxTokens, s.opts.MaxTokens)
	if req.Temperature != nil {
		settings.Temperature = req.Temperature
	}
	loop, err := providers.NewToolbox(nil).Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	messages, view, err := s.rounds.conversation("", "", nil, req.messages)
	if err != nil {
		return nil, err
	}
	answer := &untilStop{sequences: req.StopSequences, stop: func() { stop(errStopSequence) }}
	run, err := loop.Run(ctx, providers.Task{
		Provider: chosen.Provider, NoTools: chosen.NoTools, Emit: answer.event,
		Request: providers.Request{
			Model: chosen.Model, System: req.SystemPrompt, Messages: messages,
			Tools: req.set, Choice: req.choice, Settings: settings,
		},
		Options: providers.Options{
			Limits:  providers.Limits{Rounds: 3}, // of calls of unknown tools
			StandIn: s.opts.Loop.StandIn, Toolless: s.opts.Loop.Toolless, Log: s.opts.Log,
		},
	})
	switch {
	case answer.stopped: // even if the run ended first
		return sampled(answer.text.String(), nil, chosen.Model, "stopSequence"), nil
	case err != nil:
		return nil, err
	}
	calls, _ := view.handOut(run, req.set, chosen.Provider.Format(), "call_")
	return sampled(run.Text, calls, chosen.Model, samplingStop(run.Stop, len(calls) > 0)), nil
}

// least returns the smallest of some limits; 0 means no limit.
func least(limits ...int) int {
	found := 0
	for _, n := range limits {
		if n > 0 && (found == 0 || n < found) {
			found = n
		}
	}
	return found
}

// untilStop collects the text of a model up to the first of some sequences, and then stops
// the run: not every API has stop sequences.
type untilStop struct {
	sequences []string
	stop      func()
	text      strings.Builder
	stopped   bool
}

func (u *untilStop) event(e providers.Event) {
	switch {
	case u.stopped:
	case e.Type == providers.EventTurnStart:
		u.text.Reset()
	case e.Type == providers.EventTextDelta:
		u.add(e.Text)
	}
}

func (u *untilStop) add(text string) {
	before := u.text.Len()
	u.text.WriteString(text)
	all := u.text.String()
	end := len(all)
	for _, sequence := range u.sequences {
		from := max(0, before-len(sequence)+1) // before that it was searched already
		if sequence == "" || from >= end {
			continue
		}
		if at := strings.Index(all[from:end], sequence); at >= 0 {
			end = from + at
		}
	}
	if end < len(all) {
		u.stopped = true
		u.text.Reset()
		u.text.WriteString(all[:end])
		u.stop()
	}
}

// samplingStop maps the end of a run to MCP's stopReason.
func samplingStop(s providers.Stop, calls bool) string {
	switch {
	case calls:
		return "toolUse"
	case s == providers.StopEnd:
		return "endTurn"
	case s == providers.StopLength, s == providers.StopWindow:
		return "maxTokens"
	}
	return string(s)
}

// failed returns an error for the server, which must not learn about the bridge's models.
func (s *Sampling) failed(ctx context.Context, err error) *toolformat.Error {
	switch cause := context.Cause(ctx); {
	case cause == errTimeout:
		return samplingError(wire.InternalError, fmt.Sprintf("the model took longer than %s", s.opts.Timeout))
	case cause != nil:
		return toolformat.Errorf(toolformat.Canceled, "canceled").Because(cause)
	}
	s.opts.Log.Warn("a sampling request failed", "error", err)
	return samplingError(wire.InternalError, "the bridge's model failed ("+providers.ErrorCode(err)+")")
}

// samplingError returns an error with a code of JSON-RPC.
func samplingError(code int, message string) *toolformat.Error {
	whole := wire.AppendError(nil, nil, code, message, nil)
	return &toolformat.Error{Code: toolformat.Internal, Message: message, Raw: wire.Lookup(whole, "error")}
}
