package sourcetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// An AcornTool is an entry of one of Acorn's own tools files.
type AcornTool struct {
	Function struct {
		Name       string
		Parameters json.RawMessage
	}
	API json.RawMessage
}

// AcornTools returns the entries of acorn/*.tools.json below $MCPBRIDGE_CORPUS. Without that
// variable it skips the test.
func AcornTools(t *testing.T) (all []AcornTool) {
	t.Helper()
	root := os.Getenv("MCPBRIDGE_CORPUS")
	if root == "" {
		t.Skip("MCPBRIDGE_CORPUS is not set: it names the folder with acorn/*.tools.json")
	}
	files, err := filepath.Glob(filepath.Join(root, "acorn", "*.tools.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files below %s (%v)", root, err)
	}
	for _, file := range files {
		var some []AcornTool
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, &some)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, some...)
	}
	return all
}
