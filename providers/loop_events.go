package providers

import "sync"

// An inbox takes what calls that run side by side have to tell, so that one goroutine
// can tell it in order. Putting something in never blocks.
type inbox struct {
	filled chan struct{} // holds one when there is something

	mu     sync.Mutex // guards what follows
	events []Event
}

func newInbox() *inbox { return &inbox{filled: make(chan struct{}, 1)} }

// maxQueued is how much may wait for a slow listener before progress of a call takes the
// place of its progress before.
const maxQueued = 1000

func (in *inbox) put(e Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.events) < maxQueued || e.Type != EventToolProgress || !in.replace(e) {
		in.events = append(in.events, e)
	}
	select {
	case in.filled <- struct{}{}:
	default:
	}
}

// replace puts progress in the place of the call's last; false when it has none.
func (in *inbox) replace(e Event) bool {
	for i := len(in.events) - 1; i >= 0; i-- {
		if in.events[i].Call == e.Call {
			if in.events[i].Type != EventToolProgress {
				return false
			}
			in.events[i] = e
			return true
		}
	}
	return false
}

// deliver tells what comes until so many calls have their results.
func (in *inbox) deliver(emit func(Event), calls int) {
	for calls > 0 {
		<-in.filled
		in.mu.Lock()
		events := in.events
		in.events = nil
		in.mu.Unlock()
		for _, e := range events {
			if e.Type == EventToolResult {
				calls--
			}
			emit(e)
		}
	}
}
