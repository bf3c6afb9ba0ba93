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

// ruleUnchecked is the rule of a note that names a keyword which no check looks at.
const ruleUnchecked = "unchecked"

// leave takes a keyword out of a schema and says so.
func (g *guard) leave(p *place, keyword, why string) {
	value := p.schema.Remove(keyword)
	if value == nil {
		return
	}
	what := keyword
	if !value.Is(tree.Object) && !value.Is(tree.Array) {
		what += " " + value.Short()
	}
	g.say(p.at.At(keyword), "%s is not checked: %s", what, why)
	g.loosen(p)
	if keyword == "$ref" {
		p.target = nil
	}
	for _, other := range stricter[keyword] {
		g.leave(p, other, "it depends on "+keyword)
	}
}

// stricter are the keywords that refuse more when another is not there.
var stricter = map[string][]string{
	"prefixItems":       {"items"},
	"items":             {"additionalItems"},
	"properties":        {"additionalProperties"},
	"patternProperties": {"additionalProperties"},
	"minContains":       {"contains"},
	"minimum":           {"exclusiveMinimum"}, // a boolean in draft-04, which wants it
	"maximum":           {"exclusiveMaximum"},
}

func (g *guard) say(at *tree.Path, format string, args ...any) {
	g.notes = append(g.notes, wording.Note{Path: at.String(), Rule: ruleUnchecked, Text: fmt.Sprintf(format, args...)})
}

// loosen marks a schema that accepts more than was asked. What unevaluatedProperties and
// unevaluatedItems see depends on all that stands beside them.
func (g *guard) loosen(p *place) {
	p.loose = true
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		g.leave(p, keyword, "it depends on what is left out")
	}
}

// relax follows what is loose to the schemas that use it, until nothing more of them
// would refuse what was asked for.
func (g *guard) relax() {
	uses := map[*place][]*place{}
	var loose []*place
	listed := map[*place]bool{}
	list := func(p *place) {
		if !listed[p] {
			listed[p], loose = true, append(loose, p)
		}
	}
	for _, p := range g.places {
		if p.target != nil {
			uses[p.target] = append(uses[p.target], p)
		}
		if p.loose {
			list(p)
		}
	}
	spread := func(p *place, keyword string) {
		if !g.turn(p, keyword) {
			return
		}
		if p.loose = true; vocabulary.InPlace(keyword) {
			g.loosen(p)
		}
		list(p)
	}
	for i := 0; i < len(loose); i++ {
		for _, p := range uses[loose[i]] {
			spread(p, "$ref")
		}
		if p := loose[i].above; p != nil {
			spread(p, loose[i].keyword)
		}
	}
}

// turn leaves out the keyword of a schema above a loose one, when it would refuse more
// for it. It returns false when the schema above does not depend on the loose one.
func (g *guard) turn(p *place, keyword string) bool {
	const why = "it depends on what is left out below"
	switch keyword {
	case "$defs", "definitions":
		return false
	case "not":
		g.leave(p, "not", why)
	case "if":
		for _, keyword := range []string{"if", "then", "else"} {
			g.leave(p, keyword, why)
		}
	case "contains":
		g.leave(p, "maxContains", why)
	case "oneOf":
		if branches := p.schema.Remove("oneOf"); branches != nil {
			g.say(p.at.At("oneOf"), "oneOf is checked as anyOf: %s", why)
			all := p.schema.Get("allOf")
			if all == nil {
				all = tree.NewArray()
				p.schema.Set("allOf", all)
			}
			all.Items = append(all.Items, tree.NewObject(tree.NewMember("anyOf", branches)))
		}
	}
	return true
}

// settle leaves out all that keeps the schema from compiling. What is left of it is in
// root.
func (g *guard) settle(wrong []*failure) error {
	for range maxRounds {
		if len(wrong) == 0 {
			g.relist()
			g.bound()
			for g.cutLoops() {
			}
			for {
				g.relax()
				if !g.dangling() {
					g.point()
					return nil
				}
			}
		}
		for _, f := range wrong {
			if err := g.leaveViolation(f); err != nil {
				return err
			}
		}
		wrong = Violations(g.root, g.draft)
	}
	return errors.New(wrong[0].text(nil))
}

// maxRounds bounds how often what is wrong with a value is repaired and looked at again.
const maxRounds = 5

// relist lists the schemas that are left.
func (g *guard) relist() {
	g.places = g.places[:0]
	g.find(g.root, nil, nil, "", nil)
}

// leaveViolation leaves out the keyword, or the schema below it, that violates the
// meta-schema.
func (g *guard) leaveViolation(f *failure) error {
	var p *place
	var rest []string // from the innermost schema on
	n := g.root
	for i, token := range append(f.tokens, "") {
		if here := g.of[n]; here != nil {
			p, rest = here, f.tokens[i:]
		}
		n = n.Find(token)
	}
	switch {
	case p == nil || len(rest) == 0:
		return errors.New(f.note(nil).Text)
	case len(rest) > 1 && vocabulary.Keywords[rest[0]] != vocabulary.NoSchema:
		holder := p.schema.Get(rest[0])
		if slot := holder.Slot(rest[1]); slot != nil {
			g.say(p.at.At(rest[0]).At(rest[1]), "%s is not checked: %s", (*slot).Short(), f.note(nil).Text)
			*slot = tree.NewObject()
			g.of[*slot] = &place{schema: *slot, at: p.at.At(rest[0]).At(rest[1]), base: p.base, loose: true}
			return nil
		}
	}
	g.leave(p, rest[0], f.note(nil).Text)
	return nil
}

// bound leaves out what would cost too much, and patterns that are not Go's.
func (g *guard) bound() {
	for _, p := range g.places {
		for _, m := range slices.Clone(p.schema.Members) {
			switch m.Key {
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum":
				if !allCountable(m.Value) {
					g.leave(p, m.Key, "a number in it is too long or has too large an exponent")
				}
			case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
				clampCount(m.Value)
			case "pattern":
				if err := g.pattern(m.Value.Text()); err != nil {
					g.leave(p, m.Key, err.Error())
				}
			case "patternProperties":
				for _, pattern := range slices.Clone(m.Value.Members) {
					if err := g.pattern(pattern.Key); err != nil {
						m.Value.Remove(pattern.Key)
						g.say(p.at.At(m.Key).At(pattern.Key), "pattern %s is not checked: %v", shown(pattern.Key), err)
						g.leave(p, "additionalProperties", "it depends on patternProperties")
						g.loosen(p)
					}
				}
			}
		}
	}
}

func allCountable(n *tree.Node) bool {
	if n.Is(tree.Number) {
		return tree.BoundNumber(n.Raw) == nil
	}
	for _, m := range n.Members {
		if !allCountable(m.Value) {
			return false
		}
	}
	return !slices.ContainsFunc(n.Items, func(it *tree.Node) bool { return !allCountable(it) })
}

// clampCount keeps a count within what jsonschema/v5 can hold: it takes 2^63 for a
// negative number.
func clampCount(n *tree.Node) {
	const most = "9007199254740992" // nothing has so many parts
	if r := tree.Rational(n.Raw); r == nil || r.Cmp(tree.Rational(most)) > 0 {
		n.Raw = most
	}
}

// maxPatterns bounds the instructions of all regular expressions in a schema.
const maxPatterns = 50_000

// pattern takes a regular expression from that budget. The error says why it cannot be
// used: JSON Schema's are of ECMA-262 (2020-12 core, 6.4), which has what Go has not.
func (g *guard) pattern(pattern string) error {
	re, err := syntax.Parse(pattern, syntax.Perl)
	var unknown *syntax.Error
	if errors.As(err, &unknown) {
		return fmt.Errorf("no regular expression that Go has: %s: %s", unknown.Code, unknown.Expr)
	}
	size := patternSize(re)
	if size > g.patterns {
		return errors.New("the patterns of the schema are too large")
	}
	g.patterns -= size
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

// cutLoops leaves out references by which a schema applies itself to one and the same
// value without end (2020-12 core, 9.4.1). It returns true when it has to be called again.
func (g *guard) cutLoops() bool {
	below := map[*place][]*place{}
	for _, p := range g.places {
		if p.above != nil && vocabulary.InPlace(p.keyword) {
			below[p.above] = append(below[p.above], p)
		}
	}
	found := false
	var way []*place // from where the search began
	const onTheWay, done = 1, 2
	state := map[*place]int{}
	var search func(p *place)
	search = func(p *place) {
		state[p] = onTheWay
		way = append(way, p)
		next := below[p]
		if p.target != nil {
			next = append(slices.Clone(next), p.target)
		}
		for _, n := range next {
			switch state[n] {
			case onTheWay:
				found = true
				g.cutLoop(way[slices.Index(way, n):])
			case 0:
				search(n)
			}
		}
		state[p] = done
		way = way[:len(way)-1]
	}
	for _, p := range g.places {
		if state[p] == 0 {
			search(p)
		}
	}
	return found
}

// cutLoop leaves out the last reference of a loop; there is one, as no schema stands
// below itself.
func (g *guard) cutLoop(loop []*place) {
	for i := len(loop) - 1; i >= 0; i-- {
		if next := loop[(i+1)%len(loop)]; loop[i].target == next {
			g.leave(loop[i], "$ref", "it leads back to itself")
			return
		}
	}
}

// dangling leaves out the references to what was left out itself.
func (g *guard) dangling() bool {
	g.relist()
	here := map[*place]bool{}
	for _, p := range g.places {
		here[p] = true
	}
	found := false
	for _, p := range g.places {
		if p.target != nil && !here[p.target] {
			g.leave(p, "$ref", "it points to what is left out")
			found = true
		}
	}
	return found
}

// point writes each reference as the place of what it points to.
func (g *guard) point() {
	where := map[*tree.Node]*tree.Path{}
	vocabulary.EachSchema(g.root, nil, func(s *tree.Node, at *tree.Path) { where[s] = at })
	for _, p := range g.places {
		if p.target != nil {
			p.schema.Set("$ref", tree.NewText(where[p.target.schema].Fragment()))
		}
	}
}
