package sql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A statement is one SQL statement with named parameters. It is immutable.
type statement struct {
	dialect   dialect
	verb      string   // what it does, in capitals: SELECT, INSERT; for WITH what follows the common tables
	returning bool     // it has a RETURNING
	files     bool     // it has an INTO OUTFILE or DUMPFILE
	names     []string // of the parameters, each once, in order
	parts     []part
	plain     string // its text when no argument is a list
}

// A part is SQL text and the parameter behind it.
type part struct {
	text   string
	param  int  // index of a name; -1: none, the statement ends
	list   bool // the parameter stands in IN (…), where a list is many
	negate bool // in NOT IN (…)
	alone  bool // in :name IS NULL, which says nothing of its type
}

// maxQuery bounds the text of a query.
const maxQuery = 1 << 20

// parse reads a query. The error says where it is no single statement, or cannot be
// understood.
func parse(d dialect, query string) (*statement, error) {
	switch {
	case len(query) > maxQuery:
		return nil, fmt.Errorf("query: longer than %d bytes", maxQuery)
	case !utf8.ValidString(query), strings.ContainsRune(query, 0):
		return nil, errors.New("query: has bytes that are no text")
	}
	p := parser{scanner: scanner{dialect: d, text: query}, st: &statement{dialect: d}}
	if err := p.run(); err != nil {
		return nil, err
	}
	if p.st.verb == "" {
		return nil, errors.New("query: cannot be empty")
	}
	p.st.plain = p.st.render(func(int) int { return 1 })
	return p.st, nil
}

// A parser finds in SQL text what a statement needs to know.
type parser struct {
	scanner
	st     *statement
	done   int       // the text before it is in a part
	groups []group   // the parentheses that are open
	last   [3]string // the last tokens, words in capitals, the newest first
	common bool      // common tables come first: WITH
	ended  bool      // a semicolon has been
}

// A group is an open parenthesis.
type group struct{ list, negate bool }

func (p *parser) run() error {
	end := len(p.text)
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return err
		case t.start == t.end:
			p.st.parts = append(p.st.parts, part{text: p.text[p.done:end], param: -1})
			return nil
		case t.kind == blank:
			continue
		case p.text[t.start:t.end] == ";":
			if !p.ended {
				p.ended, end = true, t.start
			}
			continue
		case p.ended:
			return p.fail(t.start, "a second statement: a tool runs one; remove it, or make it another tool")
		}
		if err := p.take(t); err != nil {
			return err
		}
	}
}

// aParam stands for any parameter among the last tokens; no other token is like it.
const aParam = ":name"

// take takes a token that is neither blank nor a semicolon.
func (p *parser) take(t token) error {
	text := p.text[t.start:t.end]
	switch t.kind {
	case param:
		if p.last[0] == "IN" {
			return p.fail(t.start, "IN %s needs parentheses: IN (%s)", text, text)
		}
		p.param(t)
		text = aParam
	case word:
		text = strings.ToUpper(text)
		p.word(text)
	case symbol:
		p.symbol(text)
	}
	p.last = [3]string{text, p.last[0], p.last[1]}
	return nil
}

func (p *parser) param(t token) {
	i := slices.Index(p.st.names, t.name)
	if i < 0 {
		i = len(p.st.names)
		p.st.names = append(p.st.names, t.name)
	}
	it := part{text: p.text[p.done:t.start], param: i}
	if n := len(p.groups); n > 0 && (p.last[0] == "(" || p.last[0] == ",") {
		it.list, it.negate = p.groups[n-1].list, p.groups[n-1].negate
	}
	p.st.parts = append(p.st.parts, it)
	p.done = t.end
}

func (p *parser) symbol(text string) {
	switch n := len(p.groups); text {
	case "(":
		p.groups = append(p.groups, group{list: p.last[0] == "IN", negate: p.last[0] == "IN" && p.last[1] == "NOT"})
	case ")":
		p.groups = p.groups[:max(0, n-1)]
	}
}

func (p *parser) word(text string) {
	switch n := len(p.groups); text {
	case "SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE":
		if p.st.verb == "" || p.common && n == 0 {
			p.st.verb, p.common = text, false
		}
		if n > 0 && p.last[0] == "(" { // IN (SELECT …)
			p.groups[n-1] = group{}
		}
	case "WITH":
		if p.st.verb == "" {
			p.st.verb, p.common = text, true
		}
		if n > 0 && p.last[0] == "(" {
			p.groups[n-1] = group{}
		}
	case "RETURNING":
		p.st.returning = p.st.returning || n == 0
	case "NULL":
		if p.last == [3]string{"NOT", "IS", aParam} || [2]string(p.last[:2]) == [2]string{"IS", aParam} {
			p.st.parts[len(p.st.parts)-1].alone = true
		}
	case "OUTFILE", "DUMPFILE":
		p.st.files = p.st.files || p.last[0] == "INTO"
	default:
		if p.st.verb == "" {
			p.st.verb = text
		}
	}
}

// givesRows reports whether the statement is one that answers with rows.
func (s *statement) givesRows() bool {
	return s.returning || s.verb == "CALL" || !slices.Contains(writes, s.verb)
}

// inserts reports whether the statement may make a row that has an id of its own.
func (s *statement) inserts() bool { return s.verb == "INSERT" || s.verb == "REPLACE" }

// render is the text for the driver. size says how many values there are for a part, by
// its index: 1 unless it is a list; no values are NULL.
//
// PostgreSQL's parameters have numbers, and one that stands in several places is the
// same, so that it has one type. Where nothing says the type it has one of its own. The
// others' have an order only.
func (s *statement) render(size func(part int) int) string {
	var b strings.Builder
	numbers := make([]int, len(s.names)) // of what is no list
	n := 0
	next := func() {
		n++
		if s.dialect != postgresDialect {
			b.WriteByte('?')
			return
		}
		b.WriteString("$" + strconv.Itoa(n))
	}
	for i, it := range s.parts {
		b.WriteString(it.text)
		switch {
		case it.param < 0:
		case it.alone && s.dialect == postgresDialect:
			next()
			b.WriteString("::text")
		case !it.list && s.dialect == postgresDialect && numbers[it.param] > 0:
			b.WriteString("$" + strconv.Itoa(numbers[it.param]))
		case !it.list:
			next()
			numbers[it.param] = n
		default:
			values := size(i)
			if values == 0 {
				b.WriteString("NULL")
			}
			for v := range values {
				if v > 0 {
					b.WriteByte(',')
				}
				next()
			}
		}
	}
	return b.String()
}
