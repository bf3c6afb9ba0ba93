package ledger

import "github.com/mcpbridge/mcpbridge/bridge/internal/logfile"

// Read returns the calls of a book, oldest first, with those of its old files. A file that does not exist has
// none.
func Read(path string) (calls []Call, err error) {
	at := map[string]int{}
	each := func(line []byte) {
		r, ok := parse(line)
		i, begun := at[r.ID]
		switch {
		case !ok || r.told:
		case r.Tool != "" && !begun:
			at[r.ID] = len(calls)
			calls = append(calls, r.Call)
		case r.Tool == "" && begun:
			calls[i].Ended, calls[i].Outcome, calls[i].Failed = r.Ended, r.Outcome, r.Failed
		}
	}
	files, err := logfile.OpenAll(path)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		defer file.Close()
	}
	for _, file := range files {
		if err := logfile.Lines(file, each); err != nil {
			return nil, err
		}
	}
	return calls, nil
}
