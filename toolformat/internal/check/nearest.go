package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// condense makes of failures those that are told: of alternatives only what the nearest one
// lacks, each once, in the order of the input.
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

// rank puts what is missing before what is too much.
func (f *failure) rank() int {
	switch f.keyword {
	case "required":
		return 0
	case "additionalProperties":
		return 1
	}
	return 2
}

// nearest is what the alternative lacks that the value was most likely meant for.
func (f *failure) nearest() []*failure {
	var deep [][]*failure // alternatives that ask for more than a type or a value
	types, values := []string{}, []string{}
	for _, branch := range f.branches {
		branch = condense(branch)
		if t, v, ok := f.shallow(branch); ok {
			types, values = append(types, t...), append(values, v...)
		} else {
			deep = append(deep, branch)
		}
	}
	switch len(deep) {
	case 0:
		return []*failure{f.wanting(types, values)}
	case 1:
		return deep[0]
	}
	if one := f.discriminator(deep); one != nil {
		return []*failure{one}
	}
	if one := f.missing(deep); one != nil {
		return []*failure{one}
	}
	return f.best(deep)
}

// shallow is what an alternative wants that fails at once, by the value's type or the
// value itself.
func (f *failure) shallow(branch []*failure) (types, values []string, ok bool) {
	if len(branch) != 1 || !slices.Equal(branch[0].tokens, f.tokens) || branch[0].name != "" {
		return nil, nil, false
	}
	types, values = branch[0].wants()
	return types, values, types != nil || values != nil
}

// wanting is a failure at the same place that wants any of some types and values.
func (f *failure) wanting(types, values []string) *failure {
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

// discriminator is a failure that puts together what alternatives want of one property
// which tells them apart; nil when there is none.
func (f *failure) discriminator(branches [][]*failure) *failure {
	for _, first := range branches[0] {
		var wanted []string
		for _, branch := range branches {
			i := slices.IndexFunc(branch, func(o *failure) bool {
				_, values := o.wants()
				return values != nil && slices.Equal(o.tokens, first.tokens)
			})
			if i < 0 {
				wanted = nil
				break
			}
			_, values := branch[i].wants()
			wanted = append(wanted, values...)
		}
		if wanted != nil {
			return first.wanting(nil, wanted)
		}
	}
	return nil
}

// missing is a failure of alternatives that want nothing but some properties each.
func (f *failure) missing(branches [][]*failure) *failure {
	var ways []string
	for _, branch := range branches {
		var names []string
		for _, o := range branch {
			if o.keyword != "required" || !slices.Equal(o.tokens, f.tokens) {
				return nil
			}
			names = append(names, wording.Cut(tree.Quote(o.name), maxShown))
		}
		ways = append(ways, strings.Join(names, " and "))
	}
	one := f.wanting(nil, nil)
	one.message = "missing required property " + strings.Join(unique(ways), ", or else ")
	return one
}

// best is the alternative with the fewest failures; before all, its discriminators fit.
func (f *failure) best(branches [][]*failure) []*failure {
	distance := func(branch []*failure) (apart int) {
		for _, o := range branch {
			if _, values := o.wants(); values != nil {
				apart++
			}
		}
		return apart
	}
	best := slices.MinFunc(branches, func(a, b []*failure) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(len(a), len(b)))
	})
	chosen := make([]*failure, len(best))
	for i, o := range best {
		one := *o
		one.among = max(one.among, len(f.branches))
		chosen[i] = &one
	}
	return chosen
}
