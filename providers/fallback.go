package providers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// A Fallback is a model that goes on with a run where the one before it fails, with its own settings.
type Fallback struct {
	Candidate
	Settings Settings
}

// movesOn reports whether an error is about a model or its provider, and not about the request: no connection, no
// access, no such model, too many requests, a failure of the server.
func movesOn(err error) bool {
	var e *APIError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 0, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return !e.overflow()
	case http.StatusOK:
		return e.Again
	}
	return e.Status >= http.StatusInternalServerError && !e.overflow()
}

// fallBack goes on with the next model of the options. It reports false if there is none, or another would
// not help.
func (r *runner) fallBack(err error) bool {
	if r.fallen >= len(r.task.Options.Fallbacks) || !movesOn(err) {
		return false
	}
	next := r.task.Options.Fallbacks[r.fallen]
	before := modelName(r.provider, r.task.Request.Model)
	r.fallen++
	answer := r.task.Request.Settings.Answer
	r.provider, r.task.Provider, r.task.Name, r.task.NoTools = next.Provider, next.Provider, next.Name, next.NoTools
	r.task.Request.Model, r.task.Request.Settings = next.Model, next.Settings
	if r.answer != nil {
		r.task.Request.Settings.Answer = answer
		r.answer.way = answerNatively
	}
	r.stoodIn, r.toolless, r.restarts, r.bytesPerToken = false, false, 0, 0
	r.model = next.name() + "/" + next.Model
	r.emit(Event{Type: EventNote, Text: fmt.Sprintf("%s failed: %v: %s goes on", before, err, modelName(next.Provider, next.Model)), Model: r.model})
	r.log.Warn("a model failed, and another goes on", "model", before, "next", modelName(next.Provider, next.Model), "error", err)
	return true
}

// validFallbacks reports whether all fallbacks have a provider.
func validFallbacks(all []Fallback) bool {
	return !slices.ContainsFunc(all, func(f Fallback) bool { return f.Provider == nil })
}
