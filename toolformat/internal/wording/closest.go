package wording

import "strings"

// maxWord bounds the words that are compared, in bytes; maxWords how many.
const (
	maxWord  = 60
	maxWords = 500
)

// Closest is the one of known words that a word was most likely meant to be, for an error
// that asks whether it is; "" when none is near, or several equally: see Nearest.
func Closest(word string, known []string) string {
	if near := Nearest(word, known); len(near) == 1 {
		return near[0]
	}
	return ""
}

// Nearest are those of known words that a word is equally near to, and to no other nearer.
// Letter case does not count, and what stands between words counts only among equals. Near is
// an edit distance of two, or a third of the word when that is more; in words under four
// letters one, as two would make anything of them, and more than a letter must stay.
func Nearest(word string, known []string) []string {
	if len(word) > maxWord {
		return nil
	}
	a := plainWord(word)
	limit := max(2, len(a)/3)
	best, bestSpelt, near := limit, maxWord, []string(nil)
	for _, k := range known[:min(len(known), maxWords)] {
		if len(k) > maxWord {
			continue
		}
		b := plainWord(k)
		d := editDistance(a, b)
		shared := len(a) + len(b) - 2*d // letters, at most
		if d > best || d > max(1, min(len(a), len(b))/2) || shared <= 2 {
			continue
		}
		switch spelt := editDistance([]rune(strings.ToLower(word)), []rune(strings.ToLower(k))); {
		case d < best || spelt < bestSpelt:
			best, bestSpelt, near = d, spelt, []string{k}
		case spelt == bestSpelt:
			near = append(near, k)
		}
	}
	return near
}

// plainWord is a word in the letters that count.
func plainWord(word string) []rune {
	return []rune(strings.NewReplacer("_", "", "-", "", ".", "", " ", "", `"`, "").Replace(strings.ToLower(word)))
}

// editDistance counts the characters to put in, leave out, replace or swap with a neighbour
// to make b of a (Damerau-Levenshtein, each place changed once).
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
