package stack

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/intercept"
)

// openInterceptors makes what the config asks about calls.
func (s *Stack) openInterceptors() (err error) {
	var all []intercept.Interceptor
	for _, i := range s.cfg.Policy.Interceptors {
		own := intercept.Interceptor{
			Name: i.Name, Servers: i.Servers, Tools: i.Tools, Before: slices.Contains(i.When, "before"), After: slices.Contains(i.When, "after"),
			Timeout: i.Timeout, Most: i.Most, Allow: i.OnFailure == "allow",
		}
		if i.URL == "" {
			own.Asked = &intercept.Program{Command: i.Command, Dir: s.cfg.Dir, Supervisor: s.pool.supervisor}
		} else {
			url := intercept.NewURL(i.URL, i.Headers, s.roots.pool)
			own.Asked, s.interceptURLs = url, append(s.interceptURLs, url)
		}
		all = append(all, own)
	}
	if s.interception, err = intercept.New(all, s.log); err != nil {
		return fmt.Errorf("%s: policy.interceptors: %w", s.cfg.Path, err)
	}
	return nil
}
