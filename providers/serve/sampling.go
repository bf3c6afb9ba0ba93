package serve

import (
	"cmp"
	"context"
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

// SamplingOptions are what a Sampling is made of. Zero limits mean the default that stands
// beside them.
type SamplingOptions struct {
	// Model is the model to ask, and how it is to answer when a request says nothing. hints
	// are names of models, or parts of them, that the server would like, the best first.
	Model func(hints []string) (providers.Candidate, providers.Settings, error)

	Loop      providers.Options // of it what concerns a model that takes no tools
	MaxTokens int               // of one answer, whatever a server asks for; 0: 16,384
	AtOnce    int               // requests under way; others wait, within their Timeout; 0: 4
	PerMinute int               // further requests are refused; 0: 60
	Timeout   time.Duration     // of one request; 0: 5 min
	Log       *slog.Logger      // nil: nothing is logged
}

// A Sampling answers the requests of one MCP server for an answer of a language model
// (sampling/createMessage, in its form of 2025-11-25), in the place of a client. The model
// gets no tools but those in a request, whose calls go back to the server. It may be used
// from many goroutines.
type Sampling struct {
	opts    SamplingOptions
	ledger  *ledger
	limiter *bridge.Limiter // of requests

	mu     sync.Mutex  // guards recent
	recent []time.Time // when the requests of the last minute came
}

// maxWaiting bounds the requests that wait for their turn.
const maxWaiting = 1000

// NewSampling makes one for a server.
func NewSampling(o SamplingOptions) *Sampling {
	o.MaxTokens = cmp.Or(o.MaxTokens, 16_384)
	o.AtOnce = cmp.Or(o.AtOnce, 4)
	o.PerMinute = cmp.Or(o.PerMinute, 60)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Sampling{opts: o, ledger: newLedger(time.Hour, 16<<20), limiter: bridge.NewLimiter("sampling is", o.AtOnce, maxWaiting)}
}

// CreateMessage answers one request: params are MCP's CreateMessageRequestParams, the
// result its CreateMessageResult. The error is for the server, and its causes go to the log.
func (s *Sampling) CreateMessage(ctx context.Context, params []byte) (result []byte, failed *toolformat.Error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a sampling request has panicked", "panic", p, "stack", string(debug.Stack()))
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
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Timeout, errSlow)
	defer cancel()
	if busy := s.limiter.Enter(ctx, 2*s.opts.Timeout); busy != nil { // ctx ends first
		return nil, s.failed(ctx, busy)
	}
	defer s.limiter.Leave()
	result, err = s.answer(ctx, req)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return result, nil
}

var (
	errSlow    = errors.New("it took too long")
	errStopped = errors.New("a stop sequence came")
)

// admit counts a request; false when there are too many.
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
	session, err := providers.NewToolbox(nil).Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	messages, chain := s.ledger.expand("", req.messages)
	said := &untilStop{sequences: req.StopSequences, stop: func() { stop(errStopped) }}
	run, err := session.Run(ctx, providers.Task{
		Provider: chosen.Provider, NoTools: chosen.NoTools, Emit: said.event,
		Request: providers.Request{
			Model: chosen.Model, System: req.SystemPrompt, Messages: messages,
			Tools: req.set, Choice: req.choice, Settings: settings,
		},
		Options: providers.Options{
			Limits:  providers.Limits{Rounds: 3}, // calls of tools that there are not
			StandIn: s.opts.Loop.StandIn, Toolless: s.opts.Loop.Toolless, Log: s.opts.Log,
		},
	})
	switch {
	case said.stopped: // whether or not the model was quicker
		return sampled(said.text.String(), nil, chosen.Model, "stopSequence"), nil
	case err != nil:
		return nil, err
	}
	calls := s.ledger.hand(chain, run, req.set, chosen.Provider.Format())
	return sampled(run.Text, calls, chosen.Model, samplingStop(run.Stop, len(calls) > 0)), nil
}

// least is the smallest of some limits; 0 is none.
func least(limits ...int) int {
	found := 0
	for _, n := range limits {
		if n > 0 && (found == 0 || n < found) {
			found = n
		}
	}
	return found
}

// untilStop gathers what a model says and stops it at the first of some sequences: not
// every API has a place for them.
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
	so := u.text.String()
	end := len(so)
	for _, sequence := range u.sequences {
		from := max(0, before-len(sequence)+1) // in front of it there is none
		if sequence == "" || from >= end {
			continue
		}
		if at := strings.Index(so[from:end], sequence); at >= 0 {
			end = from + at
		}
	}
	if end < len(so) {
		u.stopped = true
		u.text.Reset()
		u.text.WriteString(so[:end])
		u.stop()
	}
}

// samplingStop is MCP's word for the end of a run.
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

// failed is an error of a model as one for the server, which need not know whom the bridge
// asks, and how.
func (s *Sampling) failed(ctx context.Context, err error) *toolformat.Error {
	switch cause := context.Cause(ctx); {
	case cause == errSlow:
		return samplingError(wire.InternalError, fmt.Sprintf("the model took longer than %s", s.opts.Timeout))
	case cause != nil:
		return toolformat.Errorf(toolformat.Canceled, "cancelled").Because(cause)
	}
	s.opts.Log.Warn("a sampling request has failed", "error", err)
	return samplingError(wire.InternalError, "the model of the bridge could not be asked ("+providers.ErrorCode(err)+")")
}

// samplingError is an error with a code of JSON-RPC's own.
func samplingError(code int, message string) *toolformat.Error {
	whole := wire.AppendError(nil, nil, code, message, nil)
	return &toolformat.Error{Code: toolformat.Internal, Message: message, Raw: wire.Lookup(whole, "error")}
}
