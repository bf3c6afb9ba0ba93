package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/completions"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/messages"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
)

// Options configure a Server.
type Options struct {
	Toolbox *providers.Toolbox // the tools that every model is offered

	// Models returns the ids of the models, for /v1/models.
	Models func(context.Context) []string

	// Model returns the model that a request names, and its default settings. The error is
	// sent to the client.
	Model func(id string) (providers.Candidate, providers.Settings, error)

	// Fallbacks returns the models that go on where the one that a request names fails, unless the
	// request names them itself. It may be nil.
	Fallbacks func(providers.Candidate) []providers.Fallback

	// Caller returns the authenticated sender of a request.
	Caller func(*http.Request) bridge.Caller

	// NewID returns the id of what each node of a fleet keeps of its own (a response, and what came before a call that
	// was handed out), and Elsewhere lets the node that has made an id answer a request whose body was read.
	// answered is false if that is this one, or none; before an error nothing was answered: a *toolformat.Error says
	// that the request has not run. On a single node both are nil.
	NewID     func() string
	Elsewhere func(w http.ResponseWriter, r *http.Request, id string, body []byte) (answered bool, err error)

	// Break tells all nodes of a fleet that a run broke off whose request may be sent again for KeepBroken. request is a
	// digest of what the caller has said, and id names this node. Broken returns the id, or "". On a single node both are
	// nil.
	Break  func(request, id string)
	Broken func(request string) (id string)

	// Keep keeps a value of a principal under a key for all nodes of a fleet, nil for no longer, and Kept returns it, nil
	// without one. An error says that this was not done, or is not known now. So a response outlives the node that has
	// made it. Both may be nil.
	Keep func(ctx context.Context, principal, key string, value []byte) error
	Kept func(ctx context.Context, principal, key string) ([]byte, error)

	System  string            // the system prompt of requests without one
	Loop    providers.Options // of all runs
	AtOnce  int               // completions in progress, beyond which requests are refused; 0 means 100
	MaxBody int64             // bounds the bytes of a request; 0 means 64 MiB
	Log     *slog.Logger      // nil discards the log

	// Principals is how many callers Caller tells apart. Of several each may use half of AtOnce,
	// and of the bytes of requests in progress: 256 MiB, or 4 times MaxBody if that is more.
	Principals int
}

// A Server answers OpenAI's Chat Completions, Responses and embeddings, Anthropic's Messages, and /v1/models, behind a
// handler that authenticates. A client's own tools are offered to the model beside the bridge's and win where names
// clash. Their calls are handed back; the bridge's run inside. All methods may be called by many goroutines at once.
type Server struct {
	opts      Options
	rounds    *hiddenRounds
	admission *admission
}

// apis are the APIs by the path behind /v1/.
var apis = map[string]endpoint.API{
	"chat/completions": completions.API{},
	"messages":         messages.API{},
	responsesPath:      responses.API{},
}

const responsesPath = "responses"

// New makes a server.
func New(o Options) *Server {
	o = o.withDefaults()
	return &Server{opts: o, rounds: newHiddenRounds(64<<20, &o), admission: newAdmission(&o)}
}

// With returns a server with other options in place of s. It has what s keeps of conversations, also of requests that
// are in progress there, which its limits count, too. NewID, Keep and Kept stay those of s.
func (s *Server) With(o Options) *Server {
	o.NewID, o.Keep, o.Kept = s.opts.NewID, s.opts.Keep, s.opts.Kept
	next := &Server{opts: o.withDefaults(), rounds: s.rounds, admission: s.admission}
	next.rounds.opts.Store(&next.opts)
	next.admission.set(&next.opts)
	return next
}

func (o Options) withDefaults() Options {
	o.AtOnce = cmp.Or(o.AtOnce, 100)
	o.MaxBody = cmp.Or(o.MaxBody, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	return o
}

// ServeHTTP answers a request of one of the APIs, or for /v1/models or /v1/models/ID. In a pattern
// /v1/p/{profile}/ these follow behind the name of a profile.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	path = strings.TrimPrefix(path, "p/"+r.PathValue("profile")+"/")
	api := apis[path]
	if path == responsesPath {
		api = responses.API{NewID: s.opts.NewID}
	}
	id, isModel := strings.CutPrefix(path+"/", "models/")
	switch {
	case api != nil:
		if allowed(w, r, http.MethodPost, api) {
			s.complete(w, r, api)
		}
	case isModel:
		if allowed(w, r, http.MethodGet, lister(r)) {
			s.models(w, r, strings.TrimSuffix(id, "/"))
		}
	case path == "embeddings":
		if allowed(w, r, http.MethodPost, completions.API{}) {
			s.embed(w, r)
		}
	case strings.HasPrefix(path, "responses/"):
		s.stored(w, r, strings.TrimPrefix(path, "responses/"))
	case path == countPath:
		if allowed(w, r, http.MethodPost, messages.API{}) {
			s.count(w, r)
		}
	default:
		lister(r).Fail(w, &endpoint.Error{Status: http.StatusNotFound, Message: "unknown path: expected " + paths() + ", /v1/embeddings or /v1/models"})
	}
}

// countPath is the path behind /v1/ at which the tokens of a request of Messages are counted.
const countPath = "messages/count_tokens"

// paths returns the paths of the APIs.
func paths() string {
	var all []string
	for path := range apis {
		all = append(all, "/v1/"+path)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// allowed reports whether a request has the method that its path takes; otherwise it is answered.
func allowed(w http.ResponseWriter, r *http.Request, method string, api endpoint.API) bool {
	if r.Method == method {
		return true
	}
	w.Header().Set("Allow", method)
	api.Fail(w, &endpoint.Error{Status: http.StatusMethodNotAllowed, Message: r.Method + " is not allowed for " + r.URL.Path + ": expected " + method})
	return false
}

// Refuse answers a request that its sender may not make, in the shape of its API's errors. It
// writes nothing and reports false if the request is not for a path of a Server.
func Refuse(w http.ResponseWriter, r *http.Request, status int, reason string) bool {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return false
	}
	api := lister(r)
	for path, of := range apis {
		if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/"+path) || path == "messages" && strings.HasSuffix(r.URL.Path, "/"+countPath) {
			api = of
		}
	}
	e := &endpoint.Error{Status: status, Message: reason}
	if status == http.StatusUnauthorized {
		e.Code = "invalid_api_key"
	}
	api.Fail(w, e)
	return true
}
