package check

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A failure is one keyword of a schema that a value does not meet.
type failure struct {
	tokens       []string     // path of the value: keys of a JSON Pointer
	at           int          // offset of the value in the input
	value        *tree.Node   // nil if the failure is about the name of a property
	schema       *tree.Node   // schema that has the keyword; nil for a meta-schema
	keyword      string       // such as "type"; "anyOf" if it merges alternatives
	name         string       // property that it is about, of required and additionalProperties
	dependent    string       // property that requires name
	message      string       // words of jsonschema/v5
	place        string       // of the keyword, for the order
	types        []string     // types that would do, of a merged failure
	values       []string     // values that would do, as JSON, of a merged failure
	branches     [][]*failure // failures of each alternative, of anyOf and oneOf
	alternatives int          // number of alternatives that this one was chosen from
}

// A failureReader makes failures of the errors of jsonschema/v5.
type failureReader struct {
	instance *tree.Node
	schema   *tree.Node // as compiled; nil for a meta-schema
	index    tree.Index
}

// readAll returns the failures of an error and its causes.
func (r *failureReader) readAll(e *jsonschema.ValidationError) []*failure {
	if e.Message == "anyOf failed" || e.Message == "oneOf failed" {
		f := r.read(e)
		for _, cause := range e.Causes { // one for each alternative, in order
			f.branches = append(f.branches, r.readAll(cause))
		}
		return []*failure{f}
	}
	if len(e.Causes) == 0 || strings.HasPrefix(e.Message, "valid must be ") { // contains
		return r.perProperty(r.read(e))
	}
	var all []*failure
	for _, cause := range e.Causes {
		all = append(all, r.readAll(cause)...)
	}
	return all
}

// read returns the failure of one error.
func (r *failureReader) read(e *jsonschema.ValidationError) *failure {
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
		f.dependent = tokens[end+1]
		f.name = f.schema.Find(tokens[end : end+3]...).Text()
	}
	return f
}

// expects returns the types and the values that would do; none of either for a keyword that asks for
// something else.
func (f *failure) expects() (types, values []string) {
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
		return f.schema.Get("type").Texts(), nil
	case f.keyword == "enum":
		for _, it := range f.schema.Get("enum").List() {
			values = append(values, it.Short())
		}
	case f.keyword == "const":
		values = []string{f.schema.Get("const").Short()}
	}
	return nil, values
}

// perProperty returns a failure for each property that one is about.
func (r *failureReader) perProperty(f *failure) []*failure {
	var names []string
	switch {
	case f.schema == nil || f.value == nil:
		return []*failure{f}
	case f.keyword == "required":
		for _, name := range f.schema.Get("required").Texts() {
			if r.index.Find(f.value, name) == nil {
				names = append(names, name)
			}
		}
	case f.keyword == "additionalProperties":
		patterns := patternsOf(f.schema)
		for _, m := range f.value.Members {
			matches := func(re *regexp.Regexp) bool { return re.MatchString(m.Key) }
			if r.index.Find(f.schema, "properties", m.Key) == nil && !slices.ContainsFunc(patterns, matches) {
				names = append(names, m.Key)
			}
		}
	default:
		return []*failure{f}
	}
	all := make([]*failure, len(names))
	for i, name := range names {
		of := *f
		of.name = name
		all[i] = &of
	}
	return all
}

// patternsOf returns the patterns of a schema's patternProperties.
func patternsOf(schema *tree.Node) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, m := range vocabulary.MembersOf(schema.Get("patternProperties")) {
		if re, err := regexp.Compile(m.Key); err == nil {
			all = append(all, re)
		}
	}
	return all
}

// locationTokens returns the keys of a location of jsonschema/v5: a JSON Pointer whose keys are
// escaped for a URL too.
func locationTokens(location string) []string {
	tokens := tree.ParsePointer(location)
	for i, token := range tokens {
		if decoded, err := url.PathUnescape(token); err == nil {
			tokens[i] = decoded
		}
	}
	return tokens
}

// aboutName reports whether a location of keywords is below propertyNames, so that the failure is
// about the name of a property.
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

// condense chooses the failures to report, in the order of the input: of alternatives only those of
// the nearest one.
func condense(failures []*failure) []*failure {
	var all []*failure
	for _, f := range failures {
		if f.branches == nil {
			all = append(all, f)
		} else {
			all = append(all, f.nearest()...)
		}
	}
	slices.SortStableFunc(all, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(a.at, b.at), slices.Compare(a.tokens, b.tokens), cmp.Compare(ranks[a.keyword], ranks[b.keyword]),
			cmp.Compare(a.place, b.place))
	})
	return all
}

// ranks puts what is missing before what is unknown, and both before all else.
var ranks = map[string]int{"required": -2, "additionalProperties": -1}

// nearest returns the failures of the alternative that the value was most likely meant for.
func (f *failure) nearest() []*failure {
	var deep [][]*failure // of alternatives that ask for more than a type or a value
	types, values := []string{}, []string{}
	for _, branch := range f.branches {
		branch = condense(branch)
		if t, v, ok := f.typeOrValue(branch); ok {
			types, values = append(types, t...), append(values, v...)
		} else {
			deep = append(deep, branch)
		}
	}
	switch len(deep) {
	case 0:
		return []*failure{f.merged(types, values)}
	case 1:
		return deep[0]
	}
	if merged := cmp.Or(f.discriminator(deep), f.requiredAlternatives(deep)); merged != nil {
		return []*failure{merged}
	}
	return f.fewestFailures(deep)
}

// typeOrValue returns what an alternative expects that fails by the type of the value or the value
// itself.
func (f *failure) typeOrValue(branch []*failure) (types, values []string, ok bool) {
	if len(branch) != 1 || !slices.Equal(branch[0].tokens, f.tokens) || branch[0].name != "" {
		return nil, nil, false
	}
	types, values = branch[0].expects()
	return types, values, types != nil || values != nil
}

// merged returns a failure at the same place that expects any of some types and values.
func (f *failure) merged(types, values []string) *failure {
	return &failure{tokens: f.tokens, at: f.at, place: f.place, value: f.value, keyword: f.keyword, types: unique(types), values: unique(values)}
}

func unique(list []string) []string {
	var once []string
	for _, s := range list {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// discriminator merges what the alternatives expect of a property that sets them apart; nil if there
// is none.
func (f *failure) discriminator(branches [][]*failure) *failure {
	for _, first := range branches[0] {
		var expected []string
		for _, branch := range branches {
			i := slices.IndexFunc(branch, func(o *failure) bool {
				_, values := o.expects()
				return values != nil && slices.Equal(o.tokens, first.tokens)
			})
			if i < 0 {
				expected = nil
				break
			}
			_, values := branch[i].expects()
			expected = append(expected, values...)
		}
		if expected != nil {
			return first.merged(nil, expected)
		}
	}
	return nil
}

// requiredAlternatives merges alternatives that only miss properties; nil if one misses more.
func (f *failure) requiredAlternatives(branches [][]*failure) *failure {
	var ways []string
	for _, branch := range branches {
		var names []string
		for _, o := range branch {
			if o.keyword != "required" || !slices.Equal(o.tokens, f.tokens) {
				return nil
			}
			names = append(names, quoteName(o.name))
		}
		ways = append(ways, strings.Join(names, " and "))
	}
	merged := f.merged(nil, nil)
	merged.message = "missing required property " + strings.Join(unique(ways), ", or else ")
	return merged
}

// fewestFailures returns the alternative with the fewest failures, first of those that compare with
// values.
func (f *failure) fewestFailures(branches [][]*failure) []*failure {
	wrongValues := func(branch []*failure) (count int) {
		for _, o := range branch {
			if _, values := o.expects(); values != nil {
				count++
			}
		}
		return count
	}
	best := slices.MinFunc(branches, func(a, b []*failure) int {
		return cmp.Or(cmp.Compare(wrongValues(a), wrongValues(b)), cmp.Compare(len(a), len(b)))
	})
	chosen := make([]*failure, len(best))
	for i, o := range best {
		of := *o
		of.alternatives = max(of.alternatives, len(f.branches))
		chosen[i] = &of
	}
	return chosen
}
