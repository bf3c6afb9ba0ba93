package providers

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Task is what a run of the loop has to do.
type Task struct {
	Provider Provider

	// Request is the first turn. Its Tools are the asker's own: they are offered beside
	// those of the session, win where names clash, and their calls are handed back
	// (Run.Waiting). Its Choice is for the first turn alone, unless it is ChoiceNone: a
	// model that must call a tool would never end.
	Request Request

	Options Options

	// Approve is asked for calls that the policy wants to be asked about, one after
	// another in call order, from the goroutine of the run. The call has the tool's own
	// arguments, checked. It takes as long as it likes until ctx ends; that time counts
	// for no limit. nil: nobody can be asked, which is a denial.
	Approve func(ctx context.Context, call *Call, tool *toolformat.Tool) Decision

	// Emit is told of all that happens, in order, from the goroutine of the run. nil:
	// nobody listens.
	Emit func(Event)

	NoTools bool // the model is known to take no tools: as if it had said ErrNoTools
	Dropped int  // Run.Dropped of the run before this one
}

// Options say how the loop runs. The zero value works.
type Options struct {
	Limits Limits
	Policy Policy

	// Serial are globs of tool names, as in Rule.Match, such as browser__* for all tools of
	// one source. Of tools that match the same one, one call runs at a time, in call
	// order. A call of a tool that says that it changes things (readOnlyHint false, or
	// destructiveHint true) runs alone: after all calls before it, and before all that
	// follow. All other calls of a turn run side by side, since a model that makes
	// several at once can use no result in another; that includes tools that do not say
	// what they are.
	Serial []string

	// StandIn makes of a provider one that gives tools to models without them (package
	// prompted). It is used when a model takes none, which a Note says. nil: there is
	// none.
	StandIn func(Provider) Provider

	// Toolless goes on without tools when a model takes none and there is no stand-in; a
	// Note says so. Otherwise that is an error, which wraps ErrNoTools.
	Toolless bool

	Log *slog.Logger // gets the causes that no model is told; nil: nothing is logged
}

// Limits bound a run. Of those that have a default, 0 is that and a negative one is no
// limit. A Resume goes on with the counts of its run, but with new time.
type Limits struct {
	Rounds int           // turns whose calls are run; 0: 20
	Calls  int           // calls, those that failed included; 0: 200
	Time   time.Duration // of the whole run, without what people take to decide; 0: 1 h
	Tokens int           // input and output of all turns, looked at before calls are run; 0: no limit

	// Last gives the model one more turn, in which it may call nothing, when Rounds,
	// Calls, Tokens or Repeats end the run: it can answer with what it has.
	Last bool

	Parallel   int           // calls under way at once; 0: 8
	Timeout    time.Duration // of one call, anew with each progress; 0: 30 s
	MaxTimeout time.Duration // of one call that reports progress; 0: 30 min
	Output     int           // characters of a result's text that the model gets; 0: 10,000

	// Repeats is how often the same call may have the same result, with nothing new in
	// between, before the model is told; once more ends the run. 0: 3.
	Repeats int

	// Window is how many tokens of conversation and tools a model is sent, as estimated
	// by what its provider counted before. 0: as many as the provider takes. Whatever
	// does not fit, the oldest calls and their results are left out first, and nothing
	// else is.
	Window int

	Pauses    int // turns in a row that the provider wants sent back; 0: 10
	Malformed int // turns in a row whose call could not be read, which the model is told; 0: 3
	Refused   int // tools that are left out because the provider refuses them; 0: 8
	Restarts  int // times that a turn is asked for again whose stream broke before anything came of it; 0: 2
}

// filled are the limits in effect.
func (l Limits) filled() Limits {
	l.Rounds = count(l.Rounds, 20)
	l.Calls = count(l.Calls, 200)
	l.Time = span(l.Time, time.Hour)
	l.Parallel = count(l.Parallel, 8)
	l.Timeout = span(l.Timeout, 30*time.Second)
	l.MaxTimeout = span(l.MaxTimeout, 30*time.Minute)
	l.Output = count(l.Output, 10_000)
	l.Repeats = count(l.Repeats, 3)
	l.Pauses = count(l.Pauses, 10)
	l.Malformed = count(l.Malformed, 3)
	l.Refused = count(l.Refused, 8)
	l.Restarts = count(l.Restarts, 2)
	return l
}

// count is a limit in effect.
func count(set, usual int) int {
	if set < 0 {
		return math.MaxInt32
	}
	return cmp.Or(set, usual)
}

// span is a limit of time in effect.
func span(set, usual time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if set < 0 {
		return century
	}
	return cmp.Or(set, usual)
}
