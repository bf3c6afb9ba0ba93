package toolformat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Reading is the result of Read.
type Reading struct {
	Tools  []Tool
	Single bool    // the input was one definition, not a list
	Notes  []Note  // what reading repaired or left out, such as OpenAPI's spelling of types
	Faults []Fault // the definitions that are left out
}

// Read reads tool definitions: one, an array, several values one after another, or a list as a
// provider or a server wraps it. With from "" the format of each definition is recognized by its
// shape, so that a list may mix formats (as convert_to_openai_tools of AbstractLLM takes them). What
// could be of several formats is read as the first of them: a definition that follows all rules of
// the internal format or has an output_schema as internal rather than anthropic, a function as openai
// rather than ollama, a bare name as mcp.
//
// Reading with from FormatInternal is strict and finds every violation of that format; the other
// formats are read leniently.
//
// The tools come in the order of the input. Definitions that cannot be used are in Faults, and the
// others are complete. The error is for input that is not a list of definitions at all, and begins
// with the line and the column: "3:14: unexpected …".
func Read(data []byte, from Format) (*Reading, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, errors.New("1:1: not UTF-8: save the file as UTF-8")
	}
	r := &reader{data: bytes.TrimPrefix(data, []byte("\ufeff")), reading: &Reading{}}
	if from != "" {
		f, err := lookup(from)
		if err != nil {
			return nil, err
		}
		r.from = f
	}
	values, err := r.values()
	if err != nil {
		return nil, err
	}
	r.reading.Single = len(values) == 1 && values[0].Is(tree.Object) && r.lists(payload(values[0])) == nil
	for _, v := range values {
		r.value(v, nil)
	}
	return r.reading, nil
}

// A reader reads one input.
type reader struct {
	data    []byte
	from    *format // nil means that each definition tells
	reading *Reading
	count   int // definitions so far
}

// values parses the input.
func (r *reader) values() ([]*tree.Node, error) {
	const expected = "expected a tool definition or an array of definitions"
	var all []*tree.Node
	for v, err := range tree.ParseAll(r.data) {
		if err != nil {
			return nil, r.errorAt(err.Offset, err.Message)
		}
		if !v.Is(tree.Object) && !v.Is(tree.Array) {
			return nil, r.errorAt(v.Start, expected+", got "+v.Kind.String())
		}
		all = append(all, v)
	}
	if all == nil {
		return nil, r.errorAt(len(r.data), "empty input: "+expected)
	}
	return all, nil
}

// errorAt returns an error that begins with a place: line and column, in characters, from 1.
func (r *reader) errorAt(offset int, msg string) error {
	before := r.data[:min(offset, len(r.data))]
	line := bytes.Count(before, []byte("\n"))
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("%d:%d: %s", line+1, column+1, msg)
}

// wrapped are definitions in a wrapper.
type wrapped struct {
	key   string
	items []*tree.Node
	hint  *format // the format that the wrapper implies; nil if it implies none
}

// wrappers are the members that hold definitions: of MCP's tools/list and of every provider's
// request, of Gemini's tools, of old OpenAI requests.
var wrappers = [...]struct {
	key  string
	hint Format
}{
	{"tools", ""}, {"functionDeclarations", FormatGemini}, {"function_declarations", FormatGemini}, {"functions", FormatOpenAI},
}

// lists returns the definitions that an object wraps; nil if it is a definition itself.
func (r *reader) lists(n *tree.Node) []wrapped {
	if n.Get("function").Is(tree.Object) || n.Get("name").Is(tree.Text) && !isBare(n) {
		return nil
	}
	var all []wrapped
	for _, w := range wrappers {
		if v := n.Get(w.key); v.Is(tree.Array) {
			hint, _ := lookup(w.hint)
			all = append(all, wrapped{w.key, v.Items, hint})
		}
	}
	return all
}

// payload returns the result of a recorded response to tools/list, and any other value as it is.
func payload(n *tree.Node) *tree.Node {
	if result := n.Get("result"); result.Is(tree.Object) && n.Has("jsonrpc") {
		return result
	}
	return n
}

// value reads a value that is a definition, or holds some.
func (r *reader) value(n *tree.Node, hint *format) {
	if n.Is(tree.Array) {
		r.items(n.Items, hint)
		return
	}
	n = payload(n)
	lists := r.lists(n)
	if lists == nil {
		r.definition(n, hint)
		return
	}
	var beside []string
	for _, m := range n.Members {
		isList := slices.ContainsFunc(lists, func(l wrapped) bool { return l.key == m.Key })
		switch {
		case slices.Contains(hostedByGemini, m.Key):
			r.fault("", fmt.Sprintf("%q: %s", m.Key, hostedTool))
		case !isList && m.Value.Kind != tree.Null:
			beside = append(beside, strconv.Quote(m.Key))
		}
	}
	if beside != nil {
		r.reading.Notes = append(r.reading.Notes, Note{Rule: ruleLeftOut, Text: fmt.Sprintf("left out beside %q: %s", lists[0].key, wording.List(beside))})
	}
	for _, l := range lists {
		if l.hint == nil {
			l.hint = hint
		}
		r.items(l.items, l.hint)
	}
}

// items reads the elements of a list, each of which may wrap a list in turn.
func (r *reader) items(items []*tree.Node, hint *format) {
	for _, it := range items {
		if it.Is(tree.Object) {
			r.value(it, hint)
		} else {
			r.fault("", "expected a tool definition, an object, got "+it.Short())
		}
	}
}

// fault leaves the next definition out for one reason.
func (r *reader) fault(name, text string) {
	r.leaveOut(name, []Note{{Rule: ruleInvalid, Text: text}})
}

func (r *reader) leaveOut(name string, notes []Note) {
	for i := range notes {
		notes[i].Tool = name
	}
	r.reading.Faults = append(r.reading.Faults, Fault{Index: r.count, Tool: name, Notes: notes})
	r.count++
}

// definition reads one definition.
func (r *reader) definition(n *tree.Node, hint *format) {
	name := cmp.Or(n.Get("function").Get("name").Text(), n.Get("name").Text())
	f, why := r.formatOf(n, hint)
	if why != "" {
		r.fault(name, why)
		return
	}
	var notes, violations []Note
	if r.from == f && f.name == FormatInternal {
		violations = internalViolations(n)
	}
	t := Tool{Extra: r.raw(n), Format: f.name}
	if violations == nil {
		notes, violations = r.members(&t, n, f)
	}
	if violations != nil {
		r.leaveOut(name, violations)
		return
	}
	for _, note := range notes {
		note.Tool = t.Name
		r.reading.Notes = append(r.reading.Notes, note)
	}
	r.reading.Tools = append(r.reading.Tools, t)
	r.count++
}

// formatOf returns the format of a definition, or why it cannot be read.
func (r *reader) formatOf(n *tree.Node, hint *format) (f *format, why string) {
	if why := notAFunction(n); why != "" {
		return nil, why
	}
	best := recognize(n)
	switch f = cmp.Or(r.from, hint); {
	case f != nil && (f.match(n) != noMatch || f.name == FormatInternal && r.from != nil):
		return f, ""
	case r.from != nil && best != nil:
		return nil, fmt.Sprintf("not of the format %s: it looks like %s", r.from.name, best.name)
	case best != nil:
		return best, ""
	}
	var keys []string
	for _, m := range n.Members {
		keys = append(keys, strconv.Quote(m.Key))
	}
	return nil, fmt.Sprintf("not of any tool format: it has %s; expected a \"name\" and a schema, in one of the formats %s",
		wording.List(keys), formatNames())
}

// recognize returns the format that fits a definition best; nil if none does.
func recognize(n *tree.Node) *format {
	var maybe *format
	for i := range formats {
		switch formats[i].match(n) {
		case isMatch:
			return &formats[i]
		case mayMatch:
			if maybe == nil {
				maybe = &formats[i]
			}
		}
	}
	return maybe
}

// raw returns the JSON of a value as it stands in the input.
func (r *reader) raw(n *tree.Node) json.RawMessage { return r.data[n.Start:n.End:n.End] }

// members reads name, description and schemas of a definition into a tool. It returns notes, or the
// violations that make the definition unusable.
func (r *reader) members(t *Tool, def *tree.Node, f *format) (notes, violations []Note) {
	if inner := def.Get(f.inner); f.inner != "" && inner.Is(tree.Object) {
		def = inner
	}
	wrong := func(member string, expected string, got *tree.Node) {
		violations = append(violations, Note{Path: "/" + member, Rule: ruleInvalid, Text: fmt.Sprintf("expected %s, got %s", expected, got.Short())})
	}
	if t.Name = def.Get("name").Text(); t.Name == "" {
		wrong("name", "a non-empty string", def.Get("name"))
	}
	if description := def.Get("description"); def.Has("description") && !description.Is(tree.Text) {
		wrong("description", "a string", description)
	}
	t.Description = def.Get("description").Text()
	read := func(member string, spellings []string) json.RawMessage {
		i := slices.IndexFunc(spellings, def.Has)
		if i < 0 {
			return nil
		}
		schema := def.Get(spellings[i])
		if !schema.Is(tree.Object) && !schema.Is(tree.Bool) {
			wrong(member, "a JSON Schema, an object", schema)
			return nil
		}
		raw := r.raw(schema)
		if f.name != FormatGemini || spellings[i] != openAPIParameters && spellings[i] != openAPIResponse {
			return raw
		}
		raw, changes, err := fromOpenAPI(raw, tree.At(member))
		if err != nil {
			violations = append(violations, Note{Path: "/" + member, Rule: ruleInvalid, Text: err.Error()})
		}
		notes = append(notes, changes...)
		return raw
	}
	t.InputSchema = read("input_schema", f.input)
	t.OutputSchema = read("output_schema", f.output)
	return notes, violations
}

// hostedTool is the fault of a provider's own tool.
const hostedTool = "a tool hosted by the provider: it has no schema that could be converted"

// notAFunction returns why an object that looks like a tool does not define a function; "" if it may
// define one.
func notAFunction(def *tree.Node) string {
	kind := def.Get("type").Text()
	hasSchema := def.Has("input_schema") || def.Has("inputSchema")
	switch {
	case isAcorn(def) && !slices.Contains(acornTypes, kind):
		return fmt.Sprintf("an Acorn entry of type %s: expected \"api\", \"local\" or \"client\"", def.Get("type").Short())
	case hasSchema || kind == "function" || isAcorn(def):
		return ""
	case kind == "custom":
		return "a custom tool: it takes text instead of arguments, and has no schema that could be converted"
	case kind == "object" && def.Has("properties"):
		return "a JSON Schema instead of a tool definition: expected a \"name\", and the schema below it"
	case kind != "":
		return fmt.Sprintf("type %q: %s", kind, hostedTool)
	}
	i := slices.IndexFunc(def.Members, func(m tree.Member) bool { return slices.Contains(hostedByGemini, m.Key) })
	if i < 0 || def.Get("name").Is(tree.Text) {
		return ""
	}
	return fmt.Sprintf("%q: %s", def.Members[i].Key, hostedTool)
}

// hostedByGemini lists the members of Gemini's tools, in either spelling, that are not lists of
// functions (genai Tool, v1.77).
var hostedByGemini = []string{
	"googleSearch", "googleSearchRetrieval", "googleMaps", "codeExecution", "urlContext", "computerUse", "fileSearch",
	"enterpriseWebSearch", "retrieval", "mcpServers",
	"google_search", "google_search_retrieval", "google_maps", "code_execution", "url_context", "computer_use", "file_search",
	"enterprise_web_search", "mcp_servers",
}
