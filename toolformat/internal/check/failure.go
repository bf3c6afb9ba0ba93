package check

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A failure is one keyword of a schema that a value does not meet.
type failure struct {
	tokens   []string     // where the value is: a JSON Pointer, unescaped
	at       int          // where it stands in the input
	value    *tree.Node   // what came; nil when the failure is about the name of a property
	schema   *tree.Node   // what has the keyword; nil in a meta-schema
	keyword  string       // such as "type"; "anyOf" where alternatives that want a type or a value were put together
	name     string       // the property that it is about: of required and additionalProperties
	other    string       // the property for whose sake it is required
	message  string       // jsonschema's own words
	place    string       // of the keyword, for the order
	types    []string     // what type wanted
	values   []string     // what enum or const wanted, as JSON
	branches [][]*failure // of anyOf and oneOf: what fails in each alternative
	among    int          // how many alternatives this one's was chosen from
}

// report makes failures of jsonschema's errors.
type report struct {
	instance *tree.Node
	schema   *tree.Node // as it was compiled; nil: a meta-schema
	index    tree.Index // of the instance and the schema
}

// failures are the failures of an error and its causes.
func (r *report) failures(e *jsonschema.ValidationError) []*failure {
	if e.Message == "anyOf failed" || e.Message == "oneOf failed" {
		f := r.failure(e)
		for _, cause := range e.Causes { // one an alternative, in their order
			f.branches = append(f.branches, r.failures(cause))
		}
		return []*failure{f}
	}
	if len(e.Causes) == 0 || strings.HasPrefix(e.Message, "valid must be ") { // contains
		return r.expand(r.failure(e))
	}
	var all []*failure
	for _, cause := range e.Causes {
		all = append(all, r.failures(cause)...)
	}
	return all
}

// failure reads one error.
func (r *report) failure(e *jsonschema.ValidationError) *failure {
	f := &failure{tokens: locationTokens(e.InstanceLocation), message: e.Message, place: e.AbsoluteKeywordLocation}
	if value := r.index.Find(r.instance, f.tokens...); value != nil {
		f.at = value.Start
		if !aboutName(e.KeywordLocation) {
			f.value = value
		}
	}
	_, location, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	tokens := locationTokens(location)
	if e.Message == "not allowed" { // by a schema that is false
		f.keyword = "false"
		if n := len(tokens); n > 0 && tokens[n-1] == "unevaluatedProperties" {
			f.keyword = tokens[n-1]
		}
		return f
	}
	end := len(tokens) - 1
	if end > 1 && strings.HasPrefix(e.Message, "property ") { // dependentRequired/a/0
		end -= 2
	}
	if end < 0 {
		return f
	}
	f.keyword = tokens[end]
	if r.schema == nil {
		return f
	}
	f.schema = r.schema.Find(tokens[:end]...)
	if end+2 < len(tokens) {
		f.other = tokens[end+1]
		f.name = f.schema.Get(f.keyword).Find(tokens[end+1 : end+3]...).Text()
	}
	return f
}

// wants are the types and the values that would have done; none of either for a keyword
// that asks for something else.
func (f *failure) wants() (types, values []string) {
	switch {
	case f.types != nil || f.values != nil:
		return f.types, f.values
	case f.keyword == "type" && f.schema == nil:
		list, _, _ := strings.Cut(strings.TrimPrefix(f.message, "expected "), ", but got ")
		return strings.Split(list, " or "), nil
	case f.keyword == "enum" && f.schema == nil:
		return nil, strings.Split(strings.TrimPrefix(f.message, "value must be one of "), ", ")
	case f.keyword == "type":
		if t := f.schema.Get("type"); t.Is(tree.Text) {
			return []string{t.Text()}, nil
		}
		for _, t := range f.schema.Get("type").List() {
			types = append(types, t.Text())
		}
	case f.keyword == "enum":
		for _, it := range f.schema.Get("enum").List() {
			values = append(values, it.Short())
		}
	case f.keyword == "const":
		values = []string{f.schema.Get("const").Short()}
	}
	return types, values
}

// expand makes a failure of each property that one is about.
func (r *report) expand(f *failure) []*failure {
	var names []string
	switch {
	case f.schema == nil || f.value == nil:
		return []*failure{f}
	case f.keyword == "required":
		for _, it := range f.schema.Get("required").List() {
			if r.index.Find(f.value, it.Text()) == nil {
				names = append(names, it.Text())
			}
		}
	case f.keyword == "additionalProperties":
		known := patternsOf(f.schema)
		for _, m := range f.value.Members {
			if r.index.Find(f.schema.Get("properties"), m.Key) == nil && !slices.ContainsFunc(known, func(re *regexp.Regexp) bool { return re.MatchString(m.Key) }) {
				names = append(names, m.Key)
			}
		}
	default:
		return []*failure{f}
	}
	all := make([]*failure, len(names))
	for i, name := range names {
		one := *f
		one.name = name
		all[i] = &one
	}
	return all
}

// patterns are those of a schema's patternProperties.
func patternsOf(schema *tree.Node) []*regexp.Regexp {
	var all []*regexp.Regexp
	patterns := schema.Get("patternProperties")
	if patterns == nil {
		return nil
	}
	for _, m := range patterns.Members {
		if re, err := regexp.Compile(m.Key); err == nil {
			all = append(all, re)
		}
	}
	return all
}

// locationTokens are the keys of one of jsonschema's locations: a JSON Pointer whose keys
// are escaped for a URL too.
func locationTokens(location string) []string {
	tokens := tree.ParsePointer(location)
	for i, token := range tokens {
		if plain, err := url.PathUnescape(token); err == nil {
			tokens[i] = plain
		}
	}
	return tokens
}

// aboutName reports whether a location of keywords is below propertyNames, so that
// what fails there is the name of a property.
func aboutName(location string) bool {
	tokens := strings.Split(location, "/")[1:]
	for i := 0; i < len(tokens); i++ {
		isIndex := i+1 < len(tokens) && strings.Trim(tokens[i+1], "0123456789") == ""
		switch below := vocabulary.Keywords[tokens[i]]; {
		case tokens[i] == "propertyNames":
			return true
		case below == vocabulary.ManySchemas, below == vocabulary.ListOfSchemas, below == vocabulary.OneOrList && isIndex:
			i++
		}
	}
	return false
}
