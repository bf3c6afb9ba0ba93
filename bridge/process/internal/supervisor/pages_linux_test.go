package supervisor

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The pages of the program go, and it runs on.
func TestReleasePages(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	mapping := regexp.MustCompile(`(?m)^([0-9a-f]+-[0-9a-f]+) r.* ` + regexp.QuoteMeta(program) + `$(?:\n.+)*?\nRss: +(\d+) kB`)
	resident := func(read bool) (size int) { // of the program, in KiB
		mappings, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mapping.FindAllSubmatch(mappings, -1) {
			var from, to int64
			fmt.Sscanf(string(m[1]), "%x-%x", &from, &to)
			if read {
				io.Copy(io.Discard, io.NewSectionReader(memory, from, to-from))
			}
			n, _ := strconv.Atoi(string(m[2]))
			size += n
		}
		return size
	}
	resident(true) // all of it, for how much a start needs differs between systems
	before := resident(false)
	ReleasePages()
	if after := resident(false); before == 0 || after > before*3/4 {
		t.Errorf("%d KiB of the program before, %d after", before, after)
	}
}
