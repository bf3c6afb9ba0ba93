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
	verb      string   // its keyword in capitals, such as SELECT; after WITH, the one behind the common tables
	returning bool     // it has a RETURNING clause
	files     bool     // it has INTO OUTFILE or DUMPFILE
	names     []string // names of the parameters, each once, in order
	parts     []part
	plain     string // its rendered text if no argument is a list
}

// A part is SQL text and the parameter after it.
type part struct {
	text   string
	param  int  // index in statement.names; -1 at the end of the statement
	list   bool // the parameter is in IN (…), where a list stands for its values
	negate bool // … in NOT IN (…)
	alone  bool // the parameter is in :name IS NULL, which does not imply a type
}

// maxQuery bounds the text of a query, in bytes.
const maxQuery = 1 << 20

// parse parses a query, which must be a single statement. The error names the line of a fault.
func parse(d dialect, query string) (*statement, error) {
	switch {
	case len(query) > maxQuery:
		return nil, fmt.Errorf("query: longer than %d bytes", maxQuery)
	case !utf8.ValidString(query), strings.ContainsRune(query, 0):
		return nil, errors.New("query: not valid UTF-8 text")
	}
	p := parser{scanner: scanner{dialect: d, text: query}, st: &statement{dialect: d}}
	if err := p.run(); err != nil {
		return nil, err
	}
	if p.st.verb == "" {
		return nil, errors.New("query: must not be empty")
	}
	p.st.plain = p.st.render(func(int) int { return 1 })
	return p.st, nil
}

// A parser builds a statement.
type parser struct {
	scanner
	st     *statement
	done   int       // end of the text that is in parts
	groups []group   // open parentheses
	last   [3]string // the last tokens, words in capitals, the newest first
	common bool      // between WITH and the statement's own keyword
	ended  bool      // after a semicolon
}

// A group is an open parenthesis, after IN (list) or NOT IN (negate as well).
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
			return p.fail(t.start, "a second statement: a tool runs only one; remove it, or make it another tool")
		}
		if err := p.addToken(t); err != nil {
			return err
		}
	}
}

// anyParam stands for a parameter among the last tokens; no other token equals it.
const anyParam = ":name"

// addToken adds a token that is neither blank nor a semicolon.
func (p *parser) addToken(t token) error {
	text := p.text[t.start:t.end]
	switch t.kind {
	case param:
		if p.last[0] == "IN" {
			return p.fail(t.start, "IN %s needs parentheses: IN (%s)", text, text)
		}
		p.addParam(t)
		text = anyParam
	case word:
		text = strings.ToUpper(text)
		p.addWord(text)
	case symbol:
		p.addSymbol(text)
	}
	p.last = [3]string{text, p.last[0], p.last[1]}
	return nil
}

func (p *parser) addParam(t token) {
	i := slices.Index(p.st.names, t.name)
	if i < 0 {
		i = len(p.st.names)
		p.st.names = append(p.st.names, t.name)
	}
	next := part{text: p.text[p.done:t.start], param: i}
	if n := len(p.groups); n > 0 && (p.last[0] == "(" || p.last[0] == ",") {
		next.list, next.negate = p.groups[n-1].list, p.groups[n-1].negate
	}
	p.st.parts = append(p.st.parts, next)
	p.done = t.end
}

func (p *parser) addSymbol(text string) {
	switch n := len(p.groups); text {
	case "(":
		p.groups = append(p.groups, group{list: p.last[0] == "IN", negate: p.last[0] == "IN" && p.last[1] == "NOT"})
	case ")":
		p.groups = p.groups[:max(0, n-1)]
	}
}

func (p *parser) addWord(text string) {
	switch n := len(p.groups); text {
	case "SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "WITH":
		if p.st.verb == "" || p.common && n == 0 && text != "WITH" {
			p.st.verb, p.common = text, text == "WITH"
		}
		if n > 0 && p.last[0] == "(" { // IN (SELECT …)
			p.groups[n-1] = group{}
		}
	case "RETURNING":
		p.st.returning = p.st.returning || n == 0
	case "NULL":
		if p.last == [3]string{"NOT", "IS", anyParam} || [2]string(p.last[:2]) == [2]string{"IS", anyParam} {
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

// givesRows reports whether the statement returns rows.
func (s *statement) givesRows() bool {
	return s.returning || s.verb == "CALL" || !slices.Contains(writes, s.verb)
}

// inserts reports whether the statement may insert a row with a generated id.
func (s *statement) inserts() bool { return s.verb == "INSERT" || s.verb == "REPLACE" }

// defines reports whether the statement changes what the database is made of, not rows: SQLite says of
// one how many rows the statement before it has written.
func (s *statement) defines() bool {
	return s.dialect == sqliteDialect && slices.Contains([]string{"CREATE", "ALTER", "DROP"}, s.verb)
}

// render returns the text for the driver. size returns the number of values of the part with an
// index: 1 unless it is a list. 0 values are NULL.
//
// PostgreSQL's placeholders have numbers, and all places of a parameter share one, so that it has
// one type. Where nothing implies a type, a placeholder of its own gets one. The placeholders of
// the others only have an order.
func (s *statement) render(size func(part int) int) string {
	var b strings.Builder
	numbers := make([]int, len(s.names)) // of parameters outside of lists
	n := 0
	next := func() {
		n++
		if s.dialect != postgresDialect {
			b.WriteByte('?')
			return
		}
		b.WriteString("$" + strconv.Itoa(n))
	}
	for i, p := range s.parts {
		b.WriteString(p.text)
		switch {
		case p.param < 0:
		case p.alone && s.dialect == postgresDialect:
			next()
			b.WriteString("::text")
		case !p.list && s.dialect == postgresDialect && numbers[p.param] > 0:
			b.WriteString("$" + strconv.Itoa(numbers[p.param]))
		case !p.list:
			next()
			numbers[p.param] = n
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
