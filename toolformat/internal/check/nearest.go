package check

import (
	"cmp"
	"slices"
	"strings"
)

// condense chooses the failures to be told: of alternatives only those of the nearest, each once, in
// the order of the input.
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
		return cmp.Or(cmp.Compare(a.at, b.at), slices.Compare(a.tokens, b.tokens), cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.place, b.place))
	})
	return all
}

// rank puts what is missing before what is unknown.
func (f *failure) rank() int {
	switch f.keyword {
	case "required":
		return 0
	case "additionalProperties":
		return 1
	}
	return 2
}

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
	if merged := f.discriminator(deep); merged != nil {
		return []*failure{merged}
	}
	if merged := f.requiredAlternatives(deep); merged != nil {
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
