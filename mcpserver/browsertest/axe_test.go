package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// violations are what axe-core finds that is serious.
const violations = `axe.run(document).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
	.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 200) + " (" + n.failureSummary + ")").join("; ")))`

// look checks with axe-core, in both themes, on a phone and on a wide screen, that a view can be used by everyone,
// and keeps pictures of it with -artifacts.
func (b tab) look(t *testing.T, name string) {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join(modulesFolder(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(axe)+"\n;true")); err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int64{{390, 844}, {1280, 800}} {
		for _, theme := range []string{"light", "dark"} {
			if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(size[0], size[1]), themed(theme)); err != nil {
				t.Fatal(err)
			}
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](violations, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, violation := range found {
				t.Errorf("%s, %d wide, %s: %s", name, size[0], theme, violation)
			}
		}
	}
	b.picture(t, name)
}
