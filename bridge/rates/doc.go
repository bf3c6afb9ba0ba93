// Package rates is a wrapper that bounds how often each caller may call tools.
//
// A [Rate] is a token bucket for each principal, in which the calls of all tools count that match its
// pattern: it has room for Burst calls, and every Per/Calls for one more. A call needs room in the bucket of
// each rate that matches, and is refused with the time after which to try again. Which rates a caller has
// depends on its profile. The operator has none. All callers use one bucket of a Rate that is shared. A Rate that is daily is a quota instead: a count of calls that
// begins anew at midnight, which a [Store] keeps across restarts. The retries with which a client answers what the
// server has asked it are not counted.
//
// rates.go has the [Buckets] and their wrapper, bucket.go one of them, quota.go a quota, use.go what is used of quotas,
// tell.go what processes tell each other.
//
// Processes that serve the same callers tell each other what was used ([Buckets.Used], [Buckets.Take]): a Rate is one
// for all of them, but for what they let through before they are told.
//
// A call takes no lock but that of a quota, which is held while its Store is changed. Buckets.mu is taken alone, when
// a session begins or ends. There are no goroutines:
// buckets that are unused and have room again are removed when others are added.
package rates
