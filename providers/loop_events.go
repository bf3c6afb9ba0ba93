package providers

import "sync"

// An eventQueue takes the events of calls that run in parallel, so that one goroutine can
// emit them in order. To add an event never blocks.
type eventQueue struct {
	ready chan struct{} // holds one when there are events

	mu     sync.Mutex // guards events
	events []Event
}

func newEventQueue() *eventQueue { return &eventQueue{ready: make(chan struct{}, 1)} }

// maxQueued is how many events may wait for a slow listener before the progress of a call
// replaces its earlier progress.
const maxQueued = 1000

func (q *eventQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) < maxQueued || e.Type != EventToolProgress || !q.coalesce(e) {
		q.events = append(q.events, e)
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// coalesce replaces the last event of a call by its new progress, if that was progress too.
func (q *eventQueue) coalesce(e Event) bool {
	for i := len(q.events) - 1; i >= 0; i-- {
		if q.events[i].Call == e.Call {
			if q.events[i].Type != EventToolProgress {
				return false
			}
			q.events[i] = e
			return true
		}
	}
	return false
}

// deliver emits events until so many calls have their results.
func (q *eventQueue) deliver(emit func(Event), calls int) {
	for calls > 0 {
		<-q.ready
		q.mu.Lock()
		events := q.events
		q.events = nil
		q.mu.Unlock()
		for _, e := range events {
			if e.Type == EventToolResult {
				calls--
			}
			emit(e)
		}
	}
}
