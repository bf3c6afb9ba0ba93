package toolformat

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

func TestAssign(t *testing.T) {
	long := strings.Repeat("segment_", 10) + "end"
	for _, c := range []struct {
		format     Format
		name, want string
	}{
		{FormatOpenAI, "get_user", "get_user"},
		{FormatOpenAI, "get-user", "get-user"},
		{FormatInternal, "get-user", "get_user_"},
		{FormatInternal, "get_user", "get_user"},
		{FormatInternal, long, long},
		{FormatOpenAI, "admin.tools.list", "admin_tools_list_"},
		{FormatGemini, "admin.tools.list", "admin.tools.list"},
		{FormatGemini, "3d-render", "_3d-render_"},
		{FormatOpenAI, "3d-render", "3d-render"},
		{FormatOpenAIResponses, "a / b", "a_b_"},
		{FormatAnthropic, "größe", "gr_e_"},
		{FormatAnthropic, "天気", "tool_"},
		{FormatAnthropic, "a...", "a_"},
		{FormatAnthropic, long, long[:55] + "_"},
		{FormatGemini, long, long[:55] + "_"},
		{FormatOllama, "天気 " + long, "天気 " + long},
		{FormatMCP, "a b", "a b"},
		{FormatAcorn, "a b", "a b"},
	} {
		f, err := lookup(c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := f.names.assign([]string{c.name})[c.name]
		want := c.want
		if strings.HasSuffix(want, "_") {
			want += wording.Hash(c.name, shortHash)
		}
		if got != want {
			t.Errorf("%s: %q is %q, want %q", c.format, c.name, got, want)
		}
	}
}

// TestAssignTaken verifies what happens if another tool already has the mangled name.
func TestAssignTaken(t *testing.T) {
	r := openaiNames
	taken := []string{"a.b"}
	for digits := shortHash; digits <= longHash; digits += shortHash {
		made := r.mangle("a.b", digits)
		if !r.allows(made) {
			t.Errorf("%s breaks the rule", made)
		}
		for range 2 { // in any order
			if got := r.assign(taken); got["a.b"] != made {
				t.Errorf("%q: a.b is %s, want %s", taken, got["a.b"], made)
			}
			slices.Reverse(taken)
		}
		taken = append(taken, made)
	}
	got := r.assign(taken)
	if _, ok := got["a.b"]; ok || len(got) != len(taken)-1 {
		t.Errorf("%q is spelled %q", taken, got)
	}
	var tools []Tool
	for _, name := range taken {
		tools = append(tools, Tool{Name: name})
	}
	set, err := Encode(tools, FormatOpenAI, Options{})
	if err != nil || len(set.Tools) != len(taken)-1 || len(set.Faults) != 1 || set.Faults[0].Notes[0].Text != "every name that it could have in openai is taken" {
		t.Errorf("%v %+v", err, set)
	}
}

// TestNames verifies for 10,000 random sets that each name follows the rule, is unique, leads back
// to its tool, and stays when other tools come and go.
func TestNames(t *testing.T) {
	patterns := map[Format]*regexp.Regexp{}
	for i := range formats {
		if f := &formats[i]; f.names.pattern != "" {
			patterns[f.name] = regexp.MustCompile("^" + f.names.pattern + "$")
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		names := randomNames(random)
		for format, pattern := range patterns {
			f, _ := lookup(format)
			spelled := f.names.assign(names)
			if problem := wrongNames(names, spelled, pattern); problem != "" {
				t.Fatalf("%s: %q: %s", format, names, problem)
			}
			fewer := f.names.assign(names[:len(names)/2])
			for name, want := range fewer {
				if spelled[name] != want {
					t.Fatalf("%s: %q is %s among others and %s among fewer", format, name, spelled[name], want)
				}
			}
			backwards := slices.Clone(names)
			slices.Reverse(backwards)
			if !maps.Equal(f.names.assign(backwards), spelled) {
				t.Fatalf("%s: %q: the order counts", format, names)
			}
		}
	}
}

// wrongNames returns what is wrong with assigned names; "" for nothing.
func wrongNames(names []string, spelled map[string]string, pattern *regexp.Regexp) string {
	owner := map[string]string{}
	for _, name := range names {
		made := spelled[name]
		switch other, taken := owner[made]; {
		case !pattern.MatchString(made):
			return fmt.Sprintf("%q became %q, which is not allowed", name, made)
		case taken && other != name:
			return fmt.Sprintf("%q and %q are both %q", other, name, made)
		case pattern.MatchString(name) && made != name:
			return fmt.Sprintf("%q is allowed and became %q", name, made)
		}
		owner[made] = name
	}
	return ""
}

// randomNames returns names of a few words, many of which differ only in characters that a rule
// may refuse.
func randomNames(random *rand.Rand) []string {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	names := make([]string, 1+random.IntN(12))
	for i := range names {
		name := pick([]string{"get", "3d", "_", "größe", "天", strings.Repeat("x", 60)})
		for range random.IntN(4) {
			name += pick([]string{"_", "-", ".", ":", " ", "/", ""}) + pick([]string{"user", "list", "1", strings.Repeat("y", 20), "é"})
		}
		names[i] = name
	}
	return names
}

func TestFind(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var tools []Tool
		for _, name := range randomNames(random) {
			tools = append(tools, Tool{Name: name})
		}
		for _, format := range Formats() {
			set, err := Encode(tools, format, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range tools {
				if i := slices.IndexFunc(set.Tools, func(c Converted) bool { return c.Tool.Name == tool.Name }); i < 0 {
					t.Errorf("%s: %q is not there", format, tool.Name)
				} else if c, ok := set.Find(set.Tools[i].Name); !ok || c.Tool.Name != tool.Name {
					t.Errorf("%s: %q leads to %q", format, set.Tools[i].Name, c.Tool.Name)
				}
			}
			if c, ok := set.Find("no such tool"); ok {
				t.Errorf("found %v", c)
			}
		}
	}
}
