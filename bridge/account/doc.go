// Package account is a wrapper for a server at which each principal has an account of its own: it lets
// callers log in there.
//
// Callers see one more tool, connect_account, also while the server shows them nothing for want of a
// login. What it does is [Logins]: it gives the link to a page, and takes the code that the page shows when
// the person has logged in. A call that fails for want of a login leads there, too. Where the client can
// show addresses and forms (elicitation), the person is asked directly, and the call then goes on.
//
// The code is what ties the person at the browser to the caller: a link that ends up with somebody else
// connects nothing, as that person's code does not come back on the connection of this principal.
//
// account.go has the wrapper, offer.go how a person is asked.
package account
