package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
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

// A Server answers /v1/chat/completions and /v1/models, behind a handler that authenticates. A
// client's own tools are offered to the model beside the bridge's and win where names clash.
// Their calls are handed back; the bridge's run inside.
type Server struct {
	opts      Options
	rounds    *hiddenRounds
	admission *admission
}

// New makes a server.
func New(o Options) *Server {
	o.AtOnce = cmp.Or(o.AtOnce, 100)
	o.MaxBody = cmp.Or(o.MaxBody, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Server{opts: o, rounds: newHiddenRounds(64 << 20), admission: newAdmission(&o)}
}

// ServeHTTP answers a request for /v1/models, /v1/models/ID or /v1/chat/completions. In a pattern
// /v1/p/{profile}/ these follow behind the name of a profile.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if behind, ok := strings.CutPrefix(path, "/v1/p/"+r.PathValue("profile")+"/"); ok {
		path = "/v1/" + behind
	}
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/chat/completions" && r.Method == http.MethodPost:
		s.complete(w, r)
	case path == "/v1/models" && r.Method == http.MethodGet:
		list := []model{}
		for _, id := range s.opts.Models() {
			list = append(list, newModel(id))
		}
		writeJSON(w, http.StatusOK, struct {
			Object string  `json:"object"`
			Data   []model `json:"data"`
		}{"list", list})
	case isModel && r.Method == http.MethodGet:
		if _, _, err := s.opts.Model(id); err != nil {
			fail(w, http.StatusNotFound, invalidRequest, "model_not_found", err.Error())
			return
		}
		writeJSON(w, http.StatusOK, newModel(id))
	case path == "/v1/chat/completions", path == "/v1/models":
		allowed := http.MethodPost
		if path == "/v1/models" {
			allowed = http.MethodGet
		}
		w.Header().Set("Allow", allowed)
		fail(w, http.StatusMethodNotAllowed, invalidRequest, "", r.Method+" is not allowed for "+path+": expected "+allowed)
	default:
		fail(w, http.StatusNotFound, invalidRequest, "", "unknown path: expected /v1/chat/completions or /v1/models")
	}
}

// Refuse answers a request that its sender may not make, in the shape of OpenAI's errors. It
// writes nothing and reports false if the request is not for a path of a Server.
func Refuse(w http.ResponseWriter, r *http.Request, status int, reason string) bool {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return false
	}
	code := ""
	if status == http.StatusUnauthorized {
		code = "invalid_api_key"
	}
	fail(w, status, invalidRequest, code, reason)
	return true
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

// complete answers a chat completion.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	caller := s.opts.Caller(r)
	visit, err := s.admission.enter(caller.Principal.Name)
	if err != nil {
		refuseBusy(w, err)
		return
	}
	defer visit.leave()
	req := s.read(w, r, visit)
	if req == nil {
		return
	}
	chosen, settings, err := s.opts.Model(req.Model)
	if err != nil {
		fail(w, http.StatusNotFound, invalidRequest, "model_not_found", err.Error())
		return
	}
	if err := req.override(&settings, chosen.Provider); err != nil {
		writeJSON(w, http.StatusBadRequest, requestError(err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	loop, err := s.opts.Toolbox.Open(ctx, &caller)
	if err != nil {
		refuseCaller(w, err)
		return
	}
	defer loop.Close()
	owner := ownerOf(&caller)
	messages, key := s.rounds.expand(owner, req.messages)
	out := newCompletionWriter(w, req, cancel)
	defer out.close()
	run, err := loop.Run(ctx, providers.Task{
		Provider: chosen.Provider, NoTools: chosen.NoTools, Options: s.opts.Loop, Emit: out.event, Only: req.only,
		Request: providers.Request{
			Model: chosen.Model, System: cmp.Or(req.system.String(), s.opts.System), Messages: messages,
			Tools: req.set, Choice: req.choice, Settings: settings,
		},
	})
	if err != nil {
		s.failed(ctx, out, err, s.opts.Log.With(
			"provider", cmp.Or(chosen.Name, chosen.Provider.Name()), "model", chosen.Model, "principal", caller.Principal.Name,
		))
		return
	}
	out.finish(run, s.rounds.handOut(owner, key, run, req.set, chosen.Provider.Format()))
}

// ownerOf returns whose something is: what one caller leaves here, others with its principal and profile
// find again.
func ownerOf(caller *bridge.Caller) string { return caller.Principal.Name + "\x00" + caller.Profile }

// read reads a request; nil if it was refused.
func (s *Server) read(w http.ResponseWriter, r *http.Request, v *visit) *request {
	body, err := io.ReadAll(v.counted(http.MaxBytesReader(w, r.Body, s.opts.MaxBody)))
	switch {
	case errors.Is(err, errCrowded):
		refuseBusy(w, err)
		return nil
	case err != nil:
		fail(w, http.StatusRequestEntityTooLarge, invalidRequest, "", fmt.Sprintf("the request is longer than %d bytes, or was cut off", s.opts.MaxBody))
		return nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it was for the body
	req, err := readRequest(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, requestError(err))
		return nil
	}
	return req
}

// refuseCaller answers a request of a caller to whom the tools are not open.
func refuseCaller(w http.ResponseWriter, err error) {
	switch toolformat.AsError(err).Code {
	case toolformat.Denied:
		fail(w, http.StatusForbidden, invalidRequest, "", err.Error())
	case toolformat.NotFound:
		fail(w, http.StatusNotFound, invalidRequest, "", err.Error())
	default:
		fail(w, http.StatusServiceUnavailable, "server_error", "", err.Error())
	}
}

// refuseBusy answers a request for which there is no room.
func refuseBusy(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	fail(w, http.StatusTooManyRequests, "rate_limit_error", "", err.Error())
}

// failed answers with the error of a run, and logs it.
func (s *Server) failed(ctx context.Context, out *completionWriter, err error, log *slog.Logger) {
	if ctx.Err() != nil {
		return // the client has disconnected
	}
	status, kind := http.StatusBadGateway, "server_error"
	var api *providers.APIError
	var own *toolformat.Error
	switch {
	case errors.As(err, &own) && (own.Code == toolformat.Invalid || own.Code == toolformat.NotFound):
		out.fail(http.StatusBadRequest, requestError(err))
		return
	case errors.As(err, &api):
		switch api.Status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			status, kind = http.StatusBadRequest, invalidRequest
		case http.StatusNotFound: // a retry is pointless, and clients retry a 502
			status, kind = api.Status, invalidRequest
		case http.StatusTooManyRequests:
			status, kind = api.Status, "rate_limit_error"
			if api.After > 0 {
				out.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(api.After.Seconds()))))
			}
		case http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
			status = http.StatusServiceUnavailable
		}
	}
	log.Warn("a chat completion failed", "error", err)
	out.fail(status, newError(kind, providers.ErrorCode(err), err.Error()))
}

// invalidRequest is OpenAI's type of the client's errors.
const invalidRequest = "invalid_request_error"

// requestError returns the body for the error of a request, which begins with the path of the
// member that is wrong.
func requestError(err error) *apiError {
	e := newError(invalidRequest, "", err.Error())
	if param, _, ok := strings.Cut(err.Error(), ": "); ok && !strings.Contains(param, " ") {
		e.Error.Param = &param
	}
	return e
}

// apiError is the body of an error.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func newError(kind, code, message string) *apiError {
	var e apiError
	e.Error.Message, e.Error.Type = message, kind
	if code != "" {
		e.Error.Code = &code
	}
	return &e
}

func fail(w http.ResponseWriter, status int, kind, code, message string) {
	writeJSON(w, status, newError(kind, code, message))
}

// writeTimeout bounds a write to a client.
const writeTimeout = 30 * time.Second

func writeJSON(w http.ResponseWriter, status int, v any) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // fails if the client has disconnected
}
