package secret

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// reachable returns why there can be no keychain. Where no session bus runs, asking for it would start
// one, which has no keychain.
func reachable() error {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(os.Getuid())} {
		if _, err := os.Stat(filepath.Join(dir, "bus")); dir != "" && err == nil {
			return nil
		}
	}
	return errors.New("no session bus runs for this user")
}
