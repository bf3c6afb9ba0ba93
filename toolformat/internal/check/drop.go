package check

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// ruleUnchecked is the rule of a note about a keyword that is not checked.
const ruleUnchecked = "unchecked"

func (p *preparer) note(at *tree.Path, format string, args ...any) {
	p.notes = append(p.notes, wording.Note{Path: at.String(), Rule: ruleUnchecked, Text: fmt.Sprintf(format, args...)})
}

// prepare drops everything that keeps the schema from compiling, first what is wrong with it.
func (p *preparer) prepare(wrong []*failure) error {
	for range maxRounds {
		if len(wrong) == 0 {
			p.findSchemas()
			p.dropUnusable()
			for p.dropLoops() {
			}
			for {
				p.relaxAbove()
				if !p.dropDangling() {
					p.writeReferences()
					return nil
				}
			}
		}
		for _, f := range wrong {
			if err := p.dropViolation(f); err != nil {
				return err
			}
		}
		wrong = violations(p.root, p.draft)
	}
	return errors.New(wrong[0].text(nil))
}

// maxRounds bounds how often a schema or a value is repaired and checked again.
const maxRounds = 5

// dropKeyword drops a keyword of a schema and notes it.
func (p *preparer) dropKeyword(pl *place, keyword, why string) {
	value := pl.schema.Remove(keyword)
	if value == nil {
		return
	}
	what := keyword
	if !value.Is(tree.Object) && !value.Is(tree.Array) {
		what += " " + value.Short()
	}
	p.note(pl.at.At(keyword), "%s is not checked: %s", what, why)
	p.markLoose(pl)
	if keyword == "$ref" {
		pl.target = nil
	}
	for _, other := range dependents[keyword] {
		p.dropKeyword(pl, other, "it depends on "+keyword)
	}
}

// dependents lists the keywords that refuse more without another one.
var dependents = map[string][]string{
	"prefixItems":       {"items"},
	"items":             {"additionalItems"},
	"properties":        {"additionalProperties"},
	"patternProperties": {"additionalProperties"},
	"minContains":       {"contains"},
	"minimum":           {"exclusiveMinimum"}, // a boolean in draft-04, which requires minimum
	"maximum":           {"exclusiveMaximum"},
}

// markLoose marks a schema that accepts more than the original. unevaluatedProperties and
// unevaluatedItems depend on everything beside them.
func (p *preparer) markLoose(pl *place) {
	pl.loose = true
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		p.dropKeyword(pl, keyword, "it depends on a keyword that is not checked")
	}
}

// relaxAbove marks the schemas that use loose ones, and drops their keywords that would refuse
// more than the original.
func (p *preparer) relaxAbove() {
	uses := map[*place][]*place{}
	var loose []*place
	for _, pl := range p.places {
		if pl.target != nil {
			uses[pl.target] = append(uses[pl.target], pl)
		}
		if pl.loose {
			loose = append(loose, pl)
		}
	}
	spread := func(pl *place, keyword string) {
		known := pl.loose
		if !p.relaxParent(pl, keyword) {
			return
		}
		if pl.loose = true; vocabulary.InPlace(keyword) {
			p.markLoose(pl)
		}
		if !known {
			loose = append(loose, pl)
		}
	}
	for i := 0; i < len(loose); i++ {
		for _, pl := range uses[loose[i]] {
			spread(pl, "$ref")
		}
		if pl := loose[i].parent; pl != nil {
			spread(pl, loose[i].keyword)
		}
	}
}

// relaxParent drops the keywords of a schema (not, if, oneOf, maxContains) that refuse more if a
// schema below keyword accepts more. It returns false if the schema does not depend on that one.
func (p *preparer) relaxParent(pl *place, keyword string) bool {
	const why = "it depends on a keyword below that is not checked"
	switch keyword {
	case "$defs", "definitions":
		return false
	case "not":
		p.dropKeyword(pl, "not", why)
	case "if":
		for _, keyword := range []string{"if", "then", "else"} {
			p.dropKeyword(pl, keyword, why)
		}
	case "contains":
		p.dropKeyword(pl, "maxContains", why)
	case "oneOf":
		if branches := pl.schema.Remove("oneOf"); branches != nil {
			p.note(pl.at.At("oneOf"), "oneOf is checked as anyOf: %s", why)
			all := pl.schema.Get("allOf")
			if all == nil {
				all = tree.NewArray()
				pl.schema.Set("allOf", all)
			}
			all.Items = append(all.Items, tree.NewObject(tree.NewMember("anyOf", branches)))
		}
	}
	return true
}

// findSchemas lists the schemas that are left.
func (p *preparer) findSchemas() {
	p.places = p.places[:0]
	p.addSchemas(p.root, nil, nil, "", nil)
}

// dropViolation drops the keyword that violates the meta-schema, or empties the schema below it.
func (p *preparer) dropViolation(f *failure) error {
	var pl *place
	var rest []string // keys from the innermost schema on
	n := p.root
	for i, token := range append(f.tokens, "") {
		if here := p.placeOf[n]; here != nil {
			pl, rest = here, f.tokens[i:]
		}
		n = n.Find(token)
	}
	why := f.note(nil).Text
	if pl == nil || len(rest) == 0 {
		return errors.New(why)
	}
	if len(rest) > 1 && vocabulary.Keywords[rest[0]] != vocabulary.NoSchema {
		if slot := pl.schema.Get(rest[0]).Slot(rest[1]); slot != nil {
			at := pl.at.At(rest[0]).At(rest[1])
			p.note(at, "%s is not checked: %s", (*slot).Short(), why)
			*slot = tree.NewObject()
			p.placeOf[*slot] = &place{schema: *slot, at: at, base: pl.base, loose: true}
			return nil
		}
	}
	p.dropKeyword(pl, rest[0], why)
	return nil
}

// dropUnusable drops keywords that would cost too much, and patterns that Go does not have.
func (p *preparer) dropUnusable() {
	for _, pl := range p.places {
		for _, m := range slices.Clone(pl.schema.Members) {
			switch m.Key {
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum":
				if vocabulary.AnyValue(m.Value, isUnbounded) {
					p.dropKeyword(pl, m.Key, "a number in it is too long or has too large an exponent")
				}
			case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
				clampCount(m.Value)
			case "pattern":
				if err := p.reservePattern(m.Value.Text()); err != nil {
					p.dropKeyword(pl, m.Key, err.Error())
				}
			case "patternProperties":
				for _, pattern := range slices.Clone(m.Value.Members) {
					if err := p.reservePattern(pattern.Key); err != nil {
						m.Value.Remove(pattern.Key)
						p.note(pl.at.At(m.Key).At(pattern.Key), "pattern %s is not checked: %v", quoteName(pattern.Key), err)
						p.dropKeyword(pl, "additionalProperties", "it depends on patternProperties")
						p.markLoose(pl)
					}
				}
			}
		}
	}
}

// clampCount bounds a count: jsonschema/v5 reads 2^63 as a negative number. No value that is
// checked has 2^53 parts.
func clampCount(n *tree.Node) {
	const most = "9007199254740992" // 2^53
	if r := tree.Rational(n.Raw); r == nil || r.Cmp(tree.Rational(most)) > 0 {
		n.Raw = most
	}
}

// maxPatterns bounds the instructions of all regular expressions in a schema.
const maxPatterns = 50_000

// reservePattern takes the instructions of a regular expression from the budget. The error says why
// it cannot be used: JSON Schema's are those of ECMA-262 (2020-12 core, 6.4), which has more than
// Go.
func (p *preparer) reservePattern(pattern string) error {
	re, err := syntax.Parse(pattern, syntax.Perl)
	var unknown *syntax.Error
	if errors.As(err, &unknown) {
		return fmt.Errorf("not supported by Go's regular expressions: %s: %s", unknown.Code, unknown.Expr)
	}
	size := patternSize(re)
	if size > p.patternBudget {
		return errors.New("the patterns of the schema are too large")
	}
	p.patternBudget -= size
	return nil
}

// patternSize estimates the instructions of a regular expression.
func patternSize(re *syntax.Regexp) int {
	size := 2 + len(re.Rune)
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatterns+1)
}

// dropLoops drops references by which a schema applies itself to the same value without end
// (2020-12 core, 9.4.1). It returns true if it has to be called again.
func (p *preparer) dropLoops() bool {
	below := map[*place][]*place{}
	for _, pl := range p.places {
		if pl.parent != nil && vocabulary.InPlace(pl.keyword) {
			below[pl.parent] = append(below[pl.parent], pl)
		}
	}
	found := false
	var path []*place // from the start of the search
	const onPath, done = 1, 2
	state := map[*place]int{}
	var search func(pl *place)
	search = func(pl *place) {
		state[pl] = onPath
		path = append(path, pl)
		next := below[pl]
		if pl.target != nil {
			next = append(slices.Clone(next), pl.target)
		}
		for _, n := range next {
			switch state[n] {
			case onPath:
				found = true
				p.dropLoop(path[slices.Index(path, n):])
			case 0:
				search(n)
			}
		}
		state[pl] = done
		path = path[:len(path)-1]
	}
	for _, pl := range p.places {
		if state[pl] == 0 {
			search(pl)
		}
	}
	return found
}

// dropLoop drops the last reference of a loop; there is one, as no schema stands below itself.
func (p *preparer) dropLoop(loop []*place) {
	for i := len(loop) - 1; i >= 0; i-- {
		if next := loop[(i+1)%len(loop)]; loop[i].target == next {
			p.dropKeyword(loop[i], "$ref", "it leads back to itself")
			return
		}
	}
}

// dropDangling drops the references whose target was dropped, and reports whether there were any.
func (p *preparer) dropDangling() bool {
	p.findSchemas()
	here := map[*place]bool{}
	for _, pl := range p.places {
		here[pl] = true
	}
	found := false
	for _, pl := range p.places {
		if pl.target != nil && !here[pl.target] {
			p.dropKeyword(pl, "$ref", "its target is not checked")
			found = true
		}
	}
	return found
}

// writeReferences makes each reference a pointer to the place of its target.
func (p *preparer) writeReferences() {
	paths := map[*tree.Node]*tree.Path{}
	vocabulary.EachSchema(p.root, nil, func(s *tree.Node, at *tree.Path) { paths[s] = at })
	for _, pl := range p.places {
		if pl.target != nil {
			pl.schema.Set("$ref", tree.NewText(paths[pl.target.schema].Fragment()))
		}
	}
}
