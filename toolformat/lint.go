package toolformat

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A Report says how a set of tools will fare with providers, before any of them is sent
// it: one bad tool makes most of them refuse the whole request.
type Report struct {
	Tools   []ToolReport
	Targets []TargetReport
	Notes   []Note // what hurts about the set as a whole, whoever takes it
}

// A ToolReport is about one tool.
type ToolReport struct {
	Name     string
	Notes    []Note    // what is legal and hurts all the same
	Verdicts []Verdict // one a target, in the order of Report.Targets
}

// A Verdict says what becomes of one tool in one format.
type Verdict struct {
	Format Format
	Status Status
	Name   string // as the format spells it; "" when it is impossible
	Tokens int    // what it costs in each request, estimated: see EstimateTokens
	Notes  []Note // how it was repaired, or why it is impossible
}

// A TargetReport is about the whole set in one format.
type TargetReport struct {
	Format Format
	Count  [3]int // tools by Status
	Tokens int    // of the whole set
	Notes  []Note // such as more tools than are taken
}

// Status is what becomes of a tool. The set is closed.
type Status uint8

// The statuses.
const (
	OK         Status = iota // it goes as it is, its name and annotations aside
	Repaired                 // it goes, after changes that are noted
	Impossible               // it cannot be expressed and is left out
)

func (s Status) String() string { return [...]string{"ok", "repaired", "impossible"}[s] }

// EstimateTokens is what JSON of n bytes costs a model, roughly: a token for four bytes,
// the rule of thumb that vendors give for English text. What a provider counts depends
// on its model and on how it writes tools into the prompt.
func EstimateTokens(n int) int { return (n + 3) / 4 }

// Lint converts tools to each format and says what became of them.
func Lint(tools []Tool, to []Format) (*Report, error) {
	report := &Report{Tools: make([]ToolReport, len(tools)), Notes: append(nearDuplicates(tools), clientLimits(len(tools))...)}
	for i := range tools {
		report.Tools[i] = ToolReport{Name: tools[i].Name, Notes: hurts(&tools[i])}
	}
	for _, format := range to {
		set, err := Encode(tools, format, Options{})
		if err != nil {
			return nil, err
		}
		report.add(set, tools)
	}
	return report, nil
}

// add takes what became of the tools in one format.
func (r *Report) add(set *Set, tools []Tool) {
	target := TargetReport{Format: set.Format, Tokens: EstimateTokens(len(set.JSON())), Notes: tooMany(set)}
	verdicts := make([]Verdict, len(tools))
	for _, fault := range set.Faults {
		verdicts[fault.Index] = Verdict{Format: set.Format, Status: Impossible, Notes: fault.Notes}
	}
	next := 0
	for i := range tools {
		if verdicts[i].Status != Impossible {
			verdicts[i] = judge(&set.Tools[next], set.Format)
			next++
		}
		target.Count[verdicts[i].Status]++
		r.Tools[i].Verdicts = append(r.Tools[i].Verdicts, verdicts[i])
	}
	r.Targets = append(r.Targets, target)
}

// judge says what became of one tool. What a format leaves out because only clients
// read it, a title or an icon, repairs nothing.
func judge(c *Converted, format Format) Verdict {
	v := Verdict{Format: format, Name: c.Name, Tokens: EstimateTokens(len(c.JSON))}
	for _, n := range c.Notes {
		switch n.Rule {
		case ruleLeftOut:
		case ruleName:
			v.Notes = append(v.Notes, n)
		default:
			v.Notes = append(v.Notes, n)
			v.Status = Repaired
		}
	}
	if limit := descriptionLimits[format]; limit > 0 && len([]rune(c.Tool.Description)) > limit {
		v.Notes = append(v.Notes, Note{Tool: c.Tool.Name, Path: "/description", Rule: "long-description",
			Text: fmt.Sprintf("%d characters: %s has refused more than %d", len([]rune(c.Tool.Description)), format, limit)})
	}
	return v
}

// descriptionLimits are the longest descriptions that providers were reported to take,
// in characters (OpenAI: cherry-studio#3698, probe#9, LibreChat#5741, all of 2025).
var descriptionLimits = map[Format]int{FormatOpenAI: 1024, FormatOpenAIResponses: 1024}

// maxTools are the most tools that a request may have (OpenAI: opencode#4909; Gemini: the
// comment in its SDK).
var maxTools = map[Format]int{FormatOpenAI: 128, FormatOpenAIResponses: 128, FormatGemini: 512}

// clientTools are the most tools that an editor hands to its model, whichever that is
// (Cursor: mcp-testrail#6, later versions take 80; VS Code: vscode#253539).
var clientTools = []struct {
	client string
	most   int
}{{"Cursor", 40}, {"VS Code", 128}}

func clientLimits(tools int) []Note {
	var notes []Note
	for _, c := range clientTools {
		if tools > c.most {
			notes = append(notes, Note{Rule: "too-many", Text: fmt.Sprintf("%d tools: %s takes %d", tools, c.client, c.most)})
		}
	}
	return notes
}

func tooMany(set *Set) []Note {
	if most := maxTools[set.Format]; most > 0 && len(set.Tools) > most {
		return []Note{{Rule: "too-many", Text: fmt.Sprintf("%d tools: a request may have %d", len(set.Tools), most)}}
	}
	return nil
}

// clientDescription is where Claude Code cuts a description, in characters
// (claude-code#41593).
const clientDescription = 2048

// hurts is what is legal in a tool, and keeps models from using it well.
func hurts(t *Tool) []Note {
	var notes []Note
	note := func(path, rule, format string, args ...any) {
		notes = append(notes, Note{Tool: t.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(t.Description) == "" {
		note("/description", "no-description", "no description: a model can only guess from the name what the tool does")
	} else if n := len([]rune(t.Description)); n > clientDescription {
		note("/description", "long-description", "%d characters: Claude Code cuts a description after %d", n, clientDescription)
	}
	schema, err := tree.Parse(t.InputSchema)
	if err != nil {
		return notes // each format says so
	}
	vocabulary.EachSchema(schema, tree.At("input_schema"), func(s *tree.Node, at *tree.Path) {
		required, properties := s.Get("required"), s.Get("properties")
		if !required.Is(tree.Array) || !properties.Is(tree.Object) {
			return
		}
		for _, name := range required.Items {
			if name.Is(tree.Text) && properties.Get(name.Text()) == nil {
				note(at.String(), "required", "%q is required and is no property: a model does not know what to send", name.Text())
			}
		}
	})
	for _, name := range placeholders(t) {
		if schema.Get("properties").Get(name) == nil {
			note("", "placeholder", "the path of its API has {%s}, and there is no such property", name)
		}
	}
	return notes
}

// placeholders are the {names} in the path of a REST tool of an Acorn file.
func placeholders(t *Tool) []string {
	if t.Format != FormatAcorn {
		return nil
	}
	entry, err := tree.Parse(t.Extra)
	if err != nil {
		return nil
	}
	var hidden []string // context fields are filled in by the bridge
	if fields := entry.Get("context"); fields.Is(tree.Array) {
		for _, field := range fields.Items {
			hidden = append(hidden, field.Text())
		}
	}
	var names []string
	for _, part := range strings.Split(entry.Get("api").Get("path").Text(), "{")[1:] {
		name, _, closed := strings.Cut(part, "}")
		known := slices.ContainsFunc(hidden, func(h string) bool { return strings.EqualFold(h, name) })
		if closed && !known && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// nearDuplicates finds names of the same words, which models confuse: get_user and
// getUsers, user-get and get.user.
func nearDuplicates(tools []Tool) []Note {
	first := map[string]string{}
	var notes []Note
	for i := range tools {
		name := tools[i].Name
		words := nameWords(name)
		slices.Sort(words)
		key := strings.Join(words, " ")
		if other, ok := first[key]; ok && other != name {
			notes = append(notes, Note{Tool: name, Rule: "near-duplicate", Text: fmt.Sprintf("is easily taken for %s", other)})
		} else {
			first[key] = name
		}
	}
	return notes
}

// nameWords are the words of a name, in lower case and without a plural's s.
func nameWords(name string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			w := word.String()
			if len(w) > 3 {
				w = strings.TrimSuffix(w, "s")
			}
			words = append(words, w)
			word.Reset()
		}
	}
	lower := false // the last letter was one, so that a capital begins a word
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || lower && unicode.IsUpper(r) {
			end()
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word.WriteRune(unicode.ToLower(r))
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}
