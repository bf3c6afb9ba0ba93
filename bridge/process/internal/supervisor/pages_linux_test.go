package supervisor

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The pages of the program go, and it runs on.
func TestReleasePages(t *testing.T) {
	fileMemory := func() int { // in KiB
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		field := regexp.MustCompile(`RssFile:\s*(\d+) kB`).FindSubmatch(status)
		if field == nil {
			t.Skip("/proc/self/status has no RssFile, as before Linux 4.5")
		}
		size, _ := strconv.Atoi(string(field[1]))
		return size
	}
	before := fileMemory()
	ReleasePages()
	if after := fileMemory(); after > before*3/4 {
		t.Errorf("%d KiB of files before, %d after", before, after)
	}
}
