package providers

import (
	"context"
	"log/slog"
	"math"
	"time"
)

// A Task describes a run of the loop.
type Task struct {
	Provider Provider
	Name     string // the config's name of the provider, for policies and prices; "" means Provider.Name

	// Request is the first turn. Its Tools are run by the caller of Run: they are offered
	// beside those of the Loop, win where names clash, and their calls are handed back
	// (Run.Waiting). Its Choice is for the first turn only, and for each until one is neither
	// paused nor malformed, unless it is ChoiceNone: a model that must call a tool would
	// never end. A Choice of a tool that does not exist is an error.
	Request Request

	// Select are the tools of the Loop that are offered, of those that Options.Tools leaves; nil
	// means all. A selection without a tool is an error.
	Select []Selection

	// Must names tools of which the model must call one in the first turn, in place of the request's Choice; nil
	// means that it need not. One that is not offered is an error.
	Must *Selection

	// Only are the tools that are offered, of those of the Request and of the Loop; nil means all. The Request's
	// are of no Member. A selection without a tool is an error.
	Only []Selection

	Options Options

	// Approve decides about the calls for which the policy says VerdictAsk, one by one in
	// call order, from the goroutine of the run. It may take until ctx ends; the time counts
	// towards no limit. nil means that nobody can be asked: such calls are denied, unless their
	// source asks.
	Approve func(ctx context.Context, q *Question) Decision

	// Emit gets the events of the run, in order, from its goroutine. It may be nil.
	Emit func(Event)

	NoTools bool   // the model is known not to support tools, as with ErrNoTools
	LeftOut int    // Run.LeftOut of the previous run
	Dropped int    // Run.Dropped of the previous run
	Summary string // Run.Summary of the previous run

	Deferred []*Call // Run.Deferred of the new run
}

// Options control the loop. The zero value works.
type Options struct {
	Limits Limits

	// Policy decides about each call that could run, in call order, from the goroutine of the run;
	// nil allows all. Package bridge/policy has rules to decide by.
	Policy func(*Question) Ruling

	// Denied gets the calls of the Loop's tools that are not run, as the policy does not allow them or the person whom
	// it asks: by is "the user" then, else "". text is what the model is told. It may be nil.
	Denied func(q *Question, by, text string)

	// Tools are globs of the names of the Loop's tools that are offered; nil means all.
	Tools []string

	// Serial are globs of tool names (see bridge.Match), such as browser__* for all tools of
	// a source. Calls of tools that match the same glob run one at a time, in call order.
	// A call of a tool that modifies things (readOnlyHint false, or destructiveHint true)
	// runs alone, after all calls before it. All other calls of a turn run in parallel,
	// those of tools without annotations too: a model that makes several calls at once
	// cannot use the result of one in another.
	Serial []string

	// StandIn wraps a provider whose model does not support tools, to give it some (see
	// package prompted). A note is emitted. It may be nil.
	StandIn func(Provider) Provider

	// Toolless continues without tools if the model does not support them and StandIn is
	// nil. A note is emitted. Otherwise that is an error, which wraps ErrNoTools.
	Toolless bool

	// Shorten leaves out the oldest messages of a conversation that is too long without any
	// more rounds of calls to drop. Otherwise that is an error, as for a client that shortens
	// its conversations itself.
	Shorten bool

	// Fallbacks are the models that go on, each where the one before it cannot be reached, refuses access
	// or has failed before any output. A note is emitted.
	Fallbacks []Fallback

	// Info returns what is known of a model of a provider (Task.Name); nil if nothing is. The
	// usage of turns then has what they cost. It may be nil.
	Info func(provider, model string) *ModelInfo

	Budget *Budget // what may be spent in a day; nil means no limit

	// Summarize lets the model summarize the messages that Shorten leaves out, with a turn of its own; it
	// then reads that in their place.
	Summarize bool

	Log *slog.Logger // gets the causes of internal errors; nil discards them
}

// Limits bound a run. 0 means the default, and a negative value no limit. Resume continues
// with the counts of its run, but with new time.
type Limits struct {
	Rounds int           // turns whose calls are run; default 20
	Calls  int           // calls, failed ones included; default 200
	Time   time.Duration // of the run, except while people decide; default 1 h
	Cost   float64       // of all turns, in US dollars, checked before calls run; default no limit
	Tokens int           // input and output of all turns, checked before calls run; default no limit

	// Last gives the model one more turn, without calls, when Rounds, Calls, Tokens or
	// Repeats end the run, so that it can answer with what it has.
	Last bool

	Parallel   int           // calls in progress at once; default 8
	Timeout    time.Duration // of a call without progress; default 30 s
	MaxTimeout time.Duration // of a call with progress; default 30 min, or Timeout if that is longer
	Output     int           // characters of a result's text that the model gets; default 10,000

	// Repeats is how often the same call may have the same result, with nothing new in
	// between; once more ends the run. The default is 10, so that a model can wait for a
	// change. For calls that fail, or modify things, it is at most 3. From the third time on
	// the model is warned.
	Repeats int

	// Window is how many tokens of conversation and tools a model is sent, estimated from
	// the provider's counts. The calls and results of the oldest rounds are left out if
	// they do not fit, and then what Options.Shorten allows. The default is what the provider
	// takes.
	Window int

	Pauses    int // consecutive turns that the provider wants sent back; default 10
	Malformed int // consecutive turns whose calls could not be parsed; default 3
	Refused   int // tools left out because the provider refuses them; default 8
	Restarts  int // retries of a turn whose stream broke off before any output; default 2
}

// filled returns the limits with their defaults.
func (l Limits) filled() Limits {
	const century = 100 * 365 * 24 * time.Hour
	fill(&l.Rounds, 20, math.MaxInt32)
	fill(&l.Calls, 200, math.MaxInt32)
	fill(&l.Time, time.Hour, century)
	fill(&l.Parallel, 8, math.MaxInt32)
	fill(&l.Timeout, 30*time.Second, century)
	fill(&l.MaxTimeout, max(30*time.Minute, l.Timeout), century)
	fill(&l.Output, 10_000, math.MaxInt32)
	fill(&l.Repeats, 10, math.MaxInt32)
	fill(&l.Pauses, 10, math.MaxInt32)
	fill(&l.Malformed, 3, math.MaxInt32)
	fill(&l.Refused, 8, math.MaxInt32)
	fill(&l.Restarts, 2, math.MaxInt32)
	return l
}

// fill replaces 0 by the default, and a negative limit by most.
func fill[T int | time.Duration](limit *T, standard, most T) {
	switch {
	case *limit < 0:
		*limit = most
	case *limit == 0:
		*limit = standard
	}
}
