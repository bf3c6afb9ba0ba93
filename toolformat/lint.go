package toolformat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A Report says how a set of tools will fare with providers, before one of them is sent the set: one
// bad tool makes most providers refuse the whole request.
type Report struct {
	Tools   []ToolReport
	Targets []TargetReport
	Notes   []Note // problems of the set as a whole, in any format
}

// A ToolReport is about one tool.
type ToolReport struct {
	Name     string
	Notes    []Note    // what is legal and still a problem for models
	Verdicts []Verdict // one for each target, in the order of Report.Targets
}

// A Verdict is about one tool in one format.
type Verdict struct {
	Format Format
	Status Status
	Name   string // in the format; "" if the tool is impossible
	Tokens int    // estimated cost in each request: see EstimateTokens
	Notes  []Note // how the tool was repaired, or why it is impossible
}

// A TargetReport is about the whole set in one format.
type TargetReport struct {
	Format Format
	Count  [3]int // number of tools by Status
	Tokens int    // estimated cost of the set in each request
	Notes  []Note // problems of the set, such as too many tools
}

// Status is what becomes of a tool in a format. The set is closed.
type Status uint8

// The statuses.
const (
	OK         Status = iota // unchanged, apart from name and annotations
	Repaired                 // changed, as the notes tell
	Impossible               // left out: the format cannot express it
)

// String returns "ok", "repaired" or "impossible".
func (s Status) String() string { return [...]string{"ok", "repaired", "impossible"}[s] }

// EstimateTokens estimates how many tokens JSON of n bytes costs a model: one for four bytes, the
// vendors' rule of thumb for English text. The real count depends on the model and on how the
// provider writes tools into the prompt.
func EstimateTokens(n int) int { return (n + 3) / 4 }

// Lint converts tools to each format and reports what became of them.
func Lint(tools []Tool, to []Format) (*Report, error) {
	report := &Report{Tools: make([]ToolReport, len(tools)), Notes: nearDuplicates(tools)}
	for _, c := range clientTools {
		report.Notes = append(report.Notes, tooMany(len(tools), c.max, c.client+"'s limit")...)
	}
	for i := range tools {
		report.Tools[i] = ToolReport{Name: tools[i].Name, Notes: problems(&tools[i])}
	}
	for _, format := range to {
		set, err := Encode(tools, format, Options{})
		if err != nil {
			return nil, err
		}
		report.addTarget(set, tools)
	}
	return report, nil
}

// addTarget adds what became of the tools in one format.
func (r *Report) addTarget(set *Set, tools []Tool) {
	target := TargetReport{Format: set.Format, Tokens: EstimateTokens(len(set.JSON())), Notes: tooMany(len(set.Tools), maxTools[set.Format], "the limit of a request")}
	verdicts := make([]Verdict, len(tools))
	for _, fault := range set.Faults {
		verdicts[fault.Index] = Verdict{Format: set.Format, Status: Impossible, Notes: fault.Notes}
	}
	next := 0
	for i := range tools {
		if verdicts[i].Status != Impossible {
			verdicts[i] = verdictOf(&set.Tools[next], set.Format)
			next++
		}
		target.Count[verdicts[i].Status]++
		r.Tools[i].Verdicts = append(r.Tools[i].Verdicts, verdicts[i])
	}
	r.Targets = append(r.Targets, target)
}

// verdictOf judges a converted tool. Members that a format leaves out, such as a title or an icon, are
// for clients only and do not count as a repair.
func verdictOf(c *Converted, format Format) Verdict {
	v := Verdict{Format: format, Name: c.Name, Tokens: EstimateTokens(len(c.JSON))}
	for _, n := range c.Notes {
		if n.Rule == ruleLeftOut {
			continue
		}
		v.Notes = append(v.Notes, n)
		if n.Rule != ruleName {
			v.Status = Repaired
		}
	}
	if limit, n := descriptionLimits[format], utf8.RuneCountInString(c.Tool.Description); limit > 0 && n > limit {
		v.Notes = append(v.Notes, Note{Tool: c.Tool.Name, Path: "/description", Rule: "long-description",
			Text: fmt.Sprintf("%d characters: %s has refused more than %d", n, format, limit)})
	}
	return v
}

// descriptionLimits are the longest descriptions that providers were reported to accept, in characters
// (OpenAI: cherry-studio#3698, probe#9, LibreChat#5741, all of 2025).
var descriptionLimits = map[Format]int{FormatOpenAI: 1024, FormatOpenAIResponses: 1024}

// maxTools are the most tools of a request (OpenAI: opencode#4909; Gemini: the comment in its SDK).
var maxTools = map[Format]int{FormatOpenAI: 128, FormatOpenAIResponses: 128, FormatGemini: 512}

// clientTools are the most tools that an editor passes to any model (Cursor: mcp-testrail#6, later
// versions 80; VS Code: vscode#253539).
var clientTools = []struct {
	client string
	max    int
}{{"Cursor", 40}, {"VS Code", 128}}

// tooMany notes more tools than a limit; 0 means no limit.
func tooMany(tools, limit int, whose string) []Note {
	if limit == 0 || tools <= limit {
		return nil
	}
	return []Note{{Rule: "too-many", Text: fmt.Sprintf("%d tools: %s is %d", tools, whose, limit)}}
}

// clientDescription is where Claude Code cuts a description, in characters (claude-code#41593).
const clientDescription = 2048

// problems returns what is legal in a tool and keeps models from using it well.
func problems(t *Tool) []Note {
	var notes []Note
	note := func(path, rule, format string, args ...any) {
		notes = append(notes, Note{Tool: t.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(t.Description) == "" {
		note("/description", "no-description", "no description: a model can only guess from the name what the tool does")
	} else if n := utf8.RuneCountInString(t.Description); n > clientDescription {
		note("/description", "long-description", "%d characters: Claude Code cuts a description after %d", n, clientDescription)
	}
	for _, hidden := range hiddenCharacters(t) {
		note(hidden.path, "hidden-characters", "hidden characters (%s), which a model reads and a person does not see: %.100s", strings.Join(hidden.kinds, ", "), hidden.text)
	}
	schema, err := tree.Parse(t.InputSchema)
	if err != nil {
		return notes // each format tells
	}
	vocabulary.EachSchema(schema, tree.At("input_schema"), func(s *tree.Node, at *tree.Path) {
		properties := s.Get("properties")
		if !properties.Is(tree.Object) {
			return
		}
		for _, name := range s.Get("required").Texts() {
			if properties.Get(name) == nil {
				note(at.String(), "required", "%q is required but not a property: a model does not know what to send", name)
			}
		}
	})
	for _, name := range placeholders(t) {
		if schema.Get("properties").Get(name) == nil {
			note("", "placeholder", "the path of its API has {%s}, which is not a property", name)
		}
	}
	return notes
}

// A hiddenText is a text with hidden characters.
type hiddenText struct {
	path, text string // visible
	kinds      []string
}

// hiddenCharacters returns the names, titles, descriptions and values of a tool that have hidden
// characters. A pattern may well name them.
func hiddenCharacters(t *Tool) (all []hiddenText) {
	look := func(text string, at *tree.Path) {
		if visible, kinds := Visible(text); kinds != nil {
			path, _ := Visible(at.String())
			all = append(all, hiddenText{path, visible, kinds})
		}
	}
	visit := func(n *tree.Node, at *tree.Path) {
		if at.Key != "pattern" {
			look(n.Text(), at)
		}
		for _, m := range n.Members {
			look(m.Key, at.At(m.Key))
		}
	}
	look(t.Name, tree.At("name"))
	look(t.Description, tree.At("description"))
	if definition, err := tree.Parse(t.Extra); err == nil && cmp.Or(t.Format, FormatMCP) == FormatMCP {
		look(definition.Get("title").Text(), tree.At("title"))
		look(definition.Get("annotations").Get("title").Text(), tree.At("annotations").At("title"))
	}
	if schema, err := tree.Parse(t.InputSchema); err == nil {
		vocabulary.EachValue(schema, tree.At("input_schema"), visit)
	}
	if schema, err := tree.Parse(t.OutputSchema); err == nil {
		vocabulary.EachValue(schema, tree.At("output_schema"), visit)
	}
	return all
}

// placeholders returns the {names} in the path of a REST tool of an Acorn file, without those that its
// context fills in.
func placeholders(t *Tool) []string {
	if t.Format != FormatAcorn {
		return nil
	}
	entry, err := tree.Parse(t.Extra)
	if err != nil {
		return nil
	}
	hidden := entry.Get("context").Texts()
	var names []string
	for _, part := range strings.Split(entry.Get("api").Get("path").Text(), "{")[1:] {
		name, _, closed := strings.Cut(part, "}")
		isHidden := slices.ContainsFunc(hidden, func(h string) bool { return strings.EqualFold(h, name) })
		if closed && !isHidden && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// nearDuplicates finds names of the same words, which models confuse: get_user and getUsers, user-get
// and get.user.
func nearDuplicates(tools []Tool) []Note {
	first := map[string]string{}
	var notes []Note
	for i := range tools {
		name := tools[i].Name
		words := nameWords(name)
		slices.Sort(words)
		key := strings.Join(words, " ")
		if other, ok := first[key]; ok && other != name {
			notes = append(notes, Note{Tool: name, Rule: "near-duplicate", Text: fmt.Sprintf("is easily confused with %s", other)})
		} else {
			first[key] = name
		}
	}
	return notes
}

// nameWords returns the words of a name, in lower case and without a plural's s. A capital after a
// small letter begins a word.
func nameWords(name string) []string {
	var spaced strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case lower && unicode.IsUpper(r):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
		lower = unicode.IsLower(r)
	}
	words := strings.Fields(spaced.String())
	for i, w := range words {
		if len(w) > 3 {
			words[i] = strings.TrimSuffix(w, "s")
		}
	}
	return words
}
