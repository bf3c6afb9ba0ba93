package scan

import "strings"

// A phrase is words of which one of each group comes after one of the group before, with few others between.
type phrase [][]string

// phrases read like instructions to a model: those of published prompt injections, in English.
var phrases = [...]phrase{
	{words("ignore disregard forget override bypass"), words("previous prior above earlier preceding all any your existing system"), words("instructions instruction prompt prompts rules guidelines directives")},
	{words("not dont never without"), words("tell inform mention notify alert telling informing mentioning notifying alerting asking"), words("user users human")},
	{words("new updated real actual important"), words("instructions instruction"), words("for from"), words("you assistant ai model agent system developer")},
	{words("you"), words("are"), words("now"), words("dan unrestricted jailbroken developer admin root")},
	{words("reveal print output repeat show send leak"), words("your the"), words("system hidden initial"), words("prompt instructions message")},
	{words("before"), words("using calling invoking running"), words("this any other"), words("tool tools function"), words("read call send first you must open")},
	{words("send post upload forward exfiltrate email transmit"), words("conversation history credentials passwords secrets env"), words("to")},
}

// markers are what the beginning of instructions looks like, in lower case.
var markers = [...]string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|endoftext|>", "<|start_header_id|>", "[inst]", "[/inst]", "<<sys>>", "<system>", "</system>", "<important>", "</important>", "<system-reminder>", "### instruction", "### system"}

// gap is how many other words may stand between two groups of a phrase.
const gap = 3

func words(list string) []string { return strings.Fields(list) }

// A group is a bit for each group of each phrase.
type groups uint64

// A vocabulary has the groups of each word of the phrases, and what finds candidates fast.
type vocabulary struct {
	of          map[string]groups
	first, last groups
	lengths     [256]uint32 // bits of the lengths of words, by their first byte
	shapes      [256][]int  // of secrets, by their first byte
}

func newVocabulary() *vocabulary {
	v := &vocabulary{of: map[string]groups{}}
	bit := groups(1)
	for _, p := range phrases {
		v.first |= bit
		for i, group := range p {
			for _, word := range group {
				v.of[word] |= bit
				v.lengths[word[0]] |= 1 << len(word)
			}
			if i == len(p)-1 {
				v.last |= bit
			}
			bit <<= 1
		}
	}
	for i := range shapes {
		first := shapes[i].prefix[0]
		v.shapes[first] = append(v.shapes[first], i)
	}
	return v
}

// instructions calls found for each phrase and marker: its place in plain.
func (t *text) instructions(v *vocabulary, found func(at span)) {
	var due [gap + 1]groups // that may come next, by how many words more they may wait
	begun := [64]int{}      // where the phrase of a group began
	var word [20]byte
	b := t.plain
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case isWord(c):
			end := wordEnd(b, i)
			var of groups
			if n := end - i; n <= len(word) && v.lengths[c|0x20]>>(n-1)&3 != 0 { // one may be an apostrophe
				of = v.of[string(lower(&word, b[i:end]))]
			}
			if v.step(of, &due, &begun, i) {
				found(span{begun[63], end})
				due = [gap + 1]groups{}
			}
			i = end
			continue
		case c == '"': // the end of a text
			due = [gap + 1]groups{}
		case c == '<' || c == '[' || c == '#':
			if n := marker(b[i:]); n > 0 {
				found(span{i, i + n})
				i += n
				continue
			}
		}
		i++
	}
}

// step goes on by a word, and reports whether it ends a phrase, whose beginning is then in begun[63].
func (v *vocabulary) step(of groups, due *[gap + 1]groups, begun *[64]int, at int) bool {
	open := due[0] | due[1] | due[2] | due[3]
	if of|open == 0 {
		return false
	}
	hit := of & open
	copy(due[:gap], due[1:])
	due[gap] = 0
	for bit, n := groups(1), 0; hit != 0 && n < 63; bit, n = bit<<1, n+1 {
		if hit&bit == 0 {
			continue
		}
		hit &^= bit
		if v.last&bit != 0 {
			begun[63] = begun[n]
			return true
		}
		due[gap] |= bit << 1
		begun[n+1] = begun[n]
	}
	for bit, n := groups(1), 0; of&v.first != 0 && n < 63; bit, n = bit<<1, n+1 {
		if of&v.first&bit != 0 {
			due[gap] |= bit << 1
			begun[n+1] = at
			of &^= bit
		}
	}
	return false
}

func wordEnd(b []byte, i int) int {
	for i < len(b) && isWord(b[i]) || i+1 < len(b) && b[i] == '\'' && isWord(b[i+1]) {
		i++
	}
	return i
}

// lower returns a word of at most 20 bytes in lower case, without apostrophes, in memory of the caller's.
func lower(dst *[20]byte, word []byte) []byte {
	own := dst[:0]
	for _, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != '\'' {
			own = append(own, c)
		}
	}
	return own
}

// marker returns how long the marker is that b begins with, in any letter case; 0 without one.
func marker(b []byte) int {
	for _, m := range markers {
		if hasPrefixFold(b, m) {
			return len(m)
		}
	}
	return 0
}

// hasPrefixFold reports whether b begins with a prefix in lower case, in any letter case.
func hasPrefixFold(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i := range prefix {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
