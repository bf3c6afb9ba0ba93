// Package weblogin lets people log in to servers with a browser that is not on this computer.
//
// A [Desk] has the logins under way. Each begins with a link for one principal, which a person opens:
// the page says what is to be connected with whom, and leads to the authorization server. The browser
// comes back, and the page shows a code. [Desk.Finish] takes it from the principal, and only then is the
// login kept.
//
// # Whose login it is
//
// The link is no secret, and lets nobody in. Whoever gets hold of one could try two things:
//
//   - let somebody else log in for one's own principal, to use that account: the code is shown to who has
//     logged in, and not to who has asked for the link;
//   - log in for somebody else's principal, so that its data goes to one's own account: the principal
//     would have to hand in a code that it has not seen.
//
// A link is for one browser and ten minutes. The browser that has gone on from its page has a cookie, without which the
// answer of the authorization server is not accepted: the address there cannot be handed on either. That browser may
// come again. It is shown its code only with the answer that has led to it, as cookies can be set from other hosts of
// the same domain, too; another answer makes another code.
//
// # Several nodes
//
// In a [Fleet] a login stays with the node that has given the link, whose name its id has. Whatever node a
// browser reaches forwards its requests to that one, and whatever node gets the code asks the others.
//
// desk.go has the logins, pages.go what browsers see, fleet.go what there is of other nodes.
package weblogin
