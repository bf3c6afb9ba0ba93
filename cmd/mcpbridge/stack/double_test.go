package stack

import (
	"encoding/json"
	"net/http"
)

// ServeTools answers as an MCP server of the legacy era, whose tools all return a text.
func ServeTools(w http.ResponseWriter, r *http.Request, text string, names ...string) {
	var req struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&req)
	var result any
	switch req.Method {
	case "initialize":
		result = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		type tool struct {
			Name   string            `json:"name"`
			Schema map[string]string `json:"inputSchema"`
		}
		tools := []tool{}
		for _, name := range names {
			tools = append(tools, tool{name, map[string]string{"type": "object"}})
		}
		result = map[string]any{"tools": tools}
	case "tools/call":
		result = map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}}
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result}
	if result == nil {
		delete(answer, "result")
		answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.Encode(answer)
	}
}
