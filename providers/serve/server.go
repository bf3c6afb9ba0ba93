package serve

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/completions"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// Options configure a Server.
type Options struct {
	Toolbox *providers.Toolbox // the tools that every model is offered

	// Models returns the ids of the models, for /v1/models.
	Models func() []string

	// Model returns the model that a request names, and its default settings. The error is
	// sent to the client.
	Model func(id string) (providers.Candidate, providers.Settings, error)

	// Caller returns the authenticated sender of a request.
	Caller func(*http.Request) bridge.Caller

	System  string            // the system prompt of requests without one
	Loop    providers.Options // of all runs
	AtOnce  int               // completions in progress, beyond which requests are refused; 0 means 100
	MaxBody int64             // bounds the bytes of a request; 0 means 64 MiB
	Log     *slog.Logger      // nil discards the log

	// Principals is how many callers Caller tells apart. Of several each may use half of AtOnce,
	// and of the bytes of requests in progress: 256 MiB, or 4 times MaxBody if that is more.
	Principals int
}

// A Server answers OpenAI's Chat Completions and /v1/models, behind a handler that authenticates. A
// client's own tools are offered to the model beside the bridge's and win where names clash.
// Their calls are handed back; the bridge's run inside.
type Server struct {
	opts      Options
	rounds    *hiddenRounds
	admission *admission
}

// apis returns the API that a path belongs to; nil for another path.
func apiOf(path string) endpoint.API {
	switch path {
	case "/v1/chat/completions":
		return completions.API{}
	}
	return nil
}

// New makes a server.
func New(o Options) *Server {
	o.AtOnce = cmp.Or(o.AtOnce, 100)
	o.MaxBody = cmp.Or(o.MaxBody, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Server{opts: o, rounds: newHiddenRounds(64 << 20), admission: newAdmission(&o)}
}

// ServeHTTP answers a request for a model, /v1/models or /v1/models/ID. In a pattern
// /v1/p/{profile}/ these follow behind the name of a profile.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if behind, ok := strings.CutPrefix(path, "/v1/p/"+r.PathValue("profile")+"/"); ok {
		path = "/v1/" + behind
	}
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	api, allowed := apiOf(path), http.MethodGet
	if api != nil {
		allowed = http.MethodPost
	}
	switch {
	case api == nil && !isModel && path != "/v1/models":
		fail(w, http.StatusNotFound, "", "unknown path: expected /v1/chat/completions or /v1/models")
	case r.Method != allowed:
		w.Header().Set("Allow", allowed)
		cmp.Or[endpoint.API](api, completions.API{}).Fail(w, &endpoint.Error{
			Status: http.StatusMethodNotAllowed, Message: r.Method + " is not allowed for " + path + ": expected " + allowed,
		})
	case api != nil:
		s.complete(w, r, api)
	case isModel:
		if _, _, err := s.opts.Model(id); err != nil {
			fail(w, http.StatusNotFound, "model_not_found", err.Error())
			return
		}
		endpoint.WriteJSON(w, http.StatusOK, newModel(id))
	default:
		list := []model{}
		for _, id := range s.opts.Models() {
			list = append(list, newModel(id))
		}
		endpoint.WriteJSON(w, http.StatusOK, struct {
			Object string  `json:"object"`
			Data   []model `json:"data"`
		}{"list", list})
	}
}

// Refuse answers a request that its sender may not make, in the shape of its API's errors. It
// writes nothing and reports false if the request is not for a path of a Server.
func Refuse(w http.ResponseWriter, r *http.Request, status int, reason string) bool {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return false
	}
	code := ""
	if status == http.StatusUnauthorized {
		code = "invalid_api_key"
	}
	fail(w, status, code, reason)
	return true
}

// fail answers with an error in OpenAI's form.
func fail(w http.ResponseWriter, status int, code, message string) {
	completions.API{}.Fail(w, &endpoint.Error{Status: status, Code: code, Message: message})
}

// model is an entry of /v1/models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModel(id string) model {
	owner, _, _ := strings.Cut(id, "/")
	return model{ID: id, Object: "model", OwnedBy: owner}
}
