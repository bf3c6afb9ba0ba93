package daemon

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A journal is what a shim remembers of a client: what it has to tell the next daemon, and which
// requests wait for an answer.
type journal struct {
	mu         sync.Mutex // guards what follows
	pending    map[string]*pending
	last       int               // order of the latest request
	questions  map[string]bool   // requests of the daemon that the client has not answered, by their raw ids
	initialize *said             // nil before the first one
	ready      []byte            // notifications/initialized, if it has been sent
	level      *said             // the latest logging/setLevel
	watched    map[string][]byte // params of subscriptions by the URI of the resource
	lists      map[string]uint64 // checksum of the latest first page by its method
	own        map[string]own    // the shim's own requests by their raw ids
	epoch      int               // daemons lost so far
	seed       maphash.Seed
}

// pending is a request of the client that waits for its answer.
type pending struct {
	order int
	id    string // raw
	list  string // method of a request for the first page of a list; else ""
	line  []byte
	sent  bool // a daemon may have carried it out
}

// said is a request that each daemon is told of.
type said struct {
	id     string // raw
	params []byte
}

// own is a request of the shim itself.
type own struct {
	method string
	listen string // raw id of the subscription for which it asks for a list; "" for a client of an older era
}

func newJournal() *journal {
	return &journal{
		pending: map[string]*pending{}, questions: map[string]bool{}, watched: map[string][]byte{},
		lists: map[string]uint64{}, own: map[string]own{}, seed: maphash.MakeSeed(),
	}
}

// fromClient notes a message of the client and returns the line for the daemon: the line itself, another
// one, or nil for none. requests are those in it, for sent. refused are answers to requests that have the
// id of one which waits: whose answer the next one with that id is, nobody could tell.
func (j *journal) fromClient(line []byte) (forward []byte, requests []*pending, refused [][]byte) {
	members, isBatch, err := wire.SplitBatch(line, maxBatch)
	if !isBatch {
		members = [][]byte{line}
	}
	if err != nil { // the daemon says what is wrong
		return line, nil, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	forwarded, rewritten := members[:0], false
	for _, member := range members {
		m, err := wire.Split(member)
		switch {
		case err != nil:
		case m.Kind() == wire.Request && j.pending[string(m.ID)] != nil:
			refused = append(refused, wire.AppendError(nil, m.ID, wire.InvalidParams, fmt.Sprintf("a request with id %.40s is pending already", m.ID), []byte(`{"code":"invalid"}`)))
			rewritten = true
			continue
		case m.Kind() == wire.Request:
			requests = append(requests, j.request(&m, member))
		case m.Kind() == wire.Notification:
			j.notification(&m, member)
		default:
			delete(j.questions, string(m.ID))
			id, current := j.original(m.ID)
			if rewritten = rewritten || !current || id != nil; !current {
				continue // the daemon that asked is gone
			} else if id != nil {
				member = replaceID(&m, id)
			}
		}
		forwarded = append(forwarded, member)
	}
	switch {
	case !rewritten:
	case len(forwarded) == 0:
		return nil, nil, refused
	case isBatch:
		line = slices.Concat([]byte("["), bytes.Join(forwarded, []byte(",")), []byte("]"))
	default:
		line = forwarded[0]
	}
	return line, requests, refused
}

// sent notes that a daemon may carry out requests of the client.
func (j *journal) sent(requests []*pending) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range requests {
		r.sent = true
	}
}

// maxBatch is more than a daemon takes: it says how many.
const maxBatch = 100_000

func (j *journal) request(m *wire.Message, line []byte) *pending {
	j.last++
	p := &pending{order: j.last, id: string(m.ID), line: line}
	j.pending[p.id] = p
	switch m.Method {
	case wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList:
		if m.Params.Get(wire.Cursor) == nil {
			p.list = m.Method
		}
	case wire.MethodInitialize:
		j.initialize = &said{p.id, m.Params.Raw}
	case wire.MethodSetLevel:
		j.level = &said{p.id, m.Params.Raw}
	case wire.MethodSubscribe:
		if uri, ok := m.Params.Text(wire.URI); ok {
			j.watched[uri] = m.Params.Raw
		}
	case wire.MethodUnsubscribe:
		if uri, ok := m.Params.Text(wire.URI); ok {
			delete(j.watched, uri)
		}
	}
	return p
}

func (j *journal) notification(m *wire.Message, line []byte) {
	switch m.Method {
	case wire.NotificationInitialized:
		j.ready = line
	case wire.NotificationCancelled:
		delete(j.pending, string(m.Params.Get(wire.RequestID)))
	}
}

// fromDaemon notes a message of the daemon and returns the line for the client, or nil for none.
func (j *journal) fromDaemon(line []byte) []byte {
	if id, start := wire.ResultStart(line); start > 0 {
		return j.answer(id, line, line[start:])
	}
	if bytes.HasPrefix(line, []byte("[")) {
		j.mu.Lock()
		defer j.mu.Unlock()
		for member := range wire.Elements(line) {
			delete(j.pending, string(wire.Lookup(member, "id")))
		}
		return line
	}
	m, err := wire.Split(line)
	switch {
	case err != nil:
		return line
	case m.Kind() == wire.Response:
		return j.answer(m.ID, m.Raw, nil)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.question(&m)
}

// answer notes the answer to a request. result is that of a list, if it is one.
func (j *journal) answer(id, line, result []byte) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	if asked, own := j.own[string(id)]; own {
		delete(j.own, string(id))
		known, listed := j.lists[asked.method]
		if !listed || result == nil || known == j.checksum(result) {
			return nil
		}
		var params []byte
		if asked.listen != "" {
			params = withMeta(wire.SetMember([]byte("{}"), wire.MetaSubscriptionID.String(), []byte(asked.listen)))
		}
		return wire.AppendNotification(nil, changed[asked.method], params)
	}
	p := j.pending[string(id)]
	if p == nil {
		return line
	}
	delete(j.pending, p.id)
	if p.list != "" && result != nil {
		j.lists[p.list] = j.checksum(result)
	}
	return line
}

// changed are the methods of lists and the notifications that they have changed.
var changed = map[string]string{
	wire.MethodToolsList:     wire.NotificationToolsChanged,
	wire.MethodPromptsList:   wire.NotificationPromptsChanged,
	wire.MethodResourcesList: wire.NotificationResourcesChanged,
	wire.MethodTemplatesList: wire.NotificationResourcesChanged,
}

// selected are the methods of lists and the members of a subscription that select their changes.
var selected = map[string]string{
	wire.MethodToolsList:     "toolsListChanged",
	wire.MethodPromptsList:   "promptsListChanged",
	wire.MethodResourcesList: "resourcesListChanged",
	wire.MethodTemplatesList: "resourcesListChanged",
}

// withMeta returns an object with nothing but a _meta.
func withMeta(meta []byte) []byte { return wire.SetMember([]byte("{}"), "_meta", meta) }

// checksum is that of a list result, without the end of its message.
func (j *journal) checksum(result []byte) uint64 {
	return maphash.Bytes(j.seed, bytes.TrimRight(result, "} \t\r\n"))
}

// question notes a request or a notification of the daemon. As each daemon counts its requests from the
// first, the client gets the ids of later daemons with the number of daemons before.
func (j *journal) question(m *wire.Message) []byte {
	line := m.Raw
	switch {
	case m.Kind() == wire.Request:
		id := m.ID
		if j.epoch > 0 {
			id = wire.AppendString(nil, j.mark()+string(m.ID))
			line = replaceID(m, id)
		}
		j.questions[string(id)] = true
	case m.Method == wire.NotificationCancelled && m.Params.Get(wire.RequestID) != nil:
		id := m.Params.Get(wire.RequestID)
		if j.epoch > 0 {
			id = wire.AppendString(nil, j.mark()+string(id))
			line = wire.AppendNotification(nil, m.Method, wire.SetMember(m.Params.Raw, "requestId", id))
		}
		delete(j.questions, string(id))
	}
	return line
}

func (j *journal) mark() string { return "daemon-" + strconv.Itoa(j.epoch+1) + ":" }

// original returns the id that the daemon gave the question which a client answers; nil means the same
// one. current is false if another daemon asked it.
func (j *journal) original(id []byte) (original []byte, current bool) {
	if j.epoch == 0 {
		return nil, true
	}
	text, _ := wire.Text(id)
	text, current = strings.CutPrefix(text, j.mark())
	return []byte(text), current
}

// replaceID returns a request or a response with another id.
func replaceID(m *wire.Message, id []byte) []byte {
	switch {
	case m.Error != nil:
		return wire.AppendErrorObject(nil, id, m.Error)
	case m.Kind() == wire.Response:
		return wire.AppendResult(nil, id, m.Result)
	}
	return appendRequest(nil, id, m.Method, m.Params.Raw)
}

// appendRequest appends a request with any id; params may be nil.
func appendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = wire.AppendString(append(dst, `,"method":`...), method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// lost notes that the daemon is gone. It returns what the client is told of it.
func (j *journal) lost() (tell [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(j.questions)) {
		params := wire.SetMember([]byte(`{"reason":"the daemon that asked has ended"}`), "requestId", []byte(id))
		tell = append(tell, wire.AppendNotification(nil, wire.NotificationCancelled, params))
	}
	j.questions, j.own = map[string]bool{}, map[string]own{}
	j.epoch++
	return tell
}

// repeated returns the raw ids of the requests that a lost daemon may have carried out.
func (j *journal) repeated() (ids []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.inOrder() {
		if p.sent {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// again returns the lines that tell a new daemon what its predecessor knew. They count as sent.
func (j *journal) again() (lines [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	askFor := func(listen, method string, params []byte) {
		id := wire.AppendString(nil, "mcpbridge-"+j.mark()+strconv.Itoa(len(j.own)))
		j.own[string(id)] = own{method, listen}
		lines = append(lines, appendRequest(nil, id, method, params))
	}
	ask := func(method string, params []byte) { askFor("", method, params) }
	if j.initialize != nil && j.pending[j.initialize.id] == nil {
		ask(wire.MethodInitialize, j.initialize.params)
	}
	if j.ready != nil {
		lines = append(lines, j.ready)
	}
	if j.level != nil && j.pending[j.level.id] == nil {
		ask(wire.MethodSetLevel, j.level.params)
	}
	for _, uri := range slices.Sorted(maps.Keys(j.watched)) {
		ask(wire.MethodSubscribe, j.watched[uri])
	}
	for _, method := range slices.Sorted(maps.Keys(j.lists)) {
		if j.initialize != nil {
			ask(method, nil)
		}
	}
	for _, p := range j.inOrder() {
		lines = append(lines, p.line)
		p.sent = true // the new daemon may carry it out before it is lost, too
		m, err := wire.Split(p.line)
		meta := m.Params.Get(wire.Meta)
		if err != nil || m.Method != wire.MethodListen || meta == nil {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(j.lists)) {
			if string(wire.Lookup(wire.Lookup(m.Params.Raw, "notifications"), selected[method])) == "true" {
				askFor(p.id, method, withMeta(meta))
			}
		}
	}
	return lines
}

// inOrder returns the pending requests as they came. j.mu is held.
func (j *journal) inOrder() []*pending {
	return slices.SortedFunc(maps.Values(j.pending), func(a, b *pending) int { return cmp.Compare(a.order, b.order) })
}

// unavailable is the JSON-RPC code of requests that no server has answered.
const unavailable = -32000

// fail returns errors for all pending requests.
func (j *journal) fail(reason string) (lines [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.inOrder() {
		lines = append(lines, wire.AppendError(nil, []byte(p.id), unavailable, reason, []byte(`{"code":"unavailable"}`)))
	}
	clear(j.pending)
	return lines
}

// idle reports whether no request waits.
func (j *journal) idle() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.pending) == 0
}
