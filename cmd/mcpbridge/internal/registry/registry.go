package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxSize bounds a server.json, in bytes.
const MaxSize = 1 << 20

// A Server is a server.json.
type Server struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Packages []Package `json:"packages"`
	Remotes  []Remote  `json:"remotes"`
}

// A Package is a way to run the server.
type Package struct {
	Type        string     `json:"registryType"`
	BaseURL     string     `json:"registryBaseUrl"`
	Identifier  string     `json:"identifier"`
	Version     string     `json:"version"`
	SHA256      string     `json:"fileSha256"`
	RuntimeHint string     `json:"runtimeHint"`
	Transport   Remote     `json:"transport"`
	Runtime     []Argument `json:"runtimeArguments"`
	Arguments   []Argument `json:"packageArguments"`
	Environment []Named    `json:"environmentVariables"`
}

// A Remote is a URL of the server.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []Named          `json:"headers"`
	Variables map[string]Input `json:"variables"`
}

// An Argument is one of a command.
type Argument struct {
	Named
	Type string `json:"type"` // "positional" or "named"
	Hint string `json:"valueHint"`
}

// A Named value is a variable of the environment, or a header.
type Named struct {
	Input
	Name      string           `json:"name"`
	Variables map[string]Input `json:"variables"`
}

// An Input is a value, or asks for one.
type Input struct {
	Description string `json:"description"`
	Value       string `json:"value"`
	Default     string `json:"default"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

// Parse reads a server.json, also one within an answer of the registry.
func Parse(data []byte) (*Server, error) {
	var file struct {
		Server
		Inner *Server `json:"server"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &file); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("line %d: not JSON", line(data, syntax.Offset))
		case errors.As(err, &kind):
			return nil, fmt.Errorf("line %d: %s: unexpected %s", line(data, kind.Offset), kind.Field, strings.Fields(kind.Value)[0])
		}
		return nil, errors.New("not JSON")
	}
	s := &file.Server
	if file.Inner != nil {
		s = file.Inner
	}
	if len(s.Packages)+len(s.Remotes) == 0 {
		return nil, errors.New(`not a server.json: expected "packages" or "remotes"`)
	}
	return s, nil
}

func line(data []byte, offset int64) int {
	return bytes.Count(data[:min(int(offset), len(data))], []byte("\n")) + 1
}
