// Package member decodes the members of a request, and says which one is wrong: its errors begin with the path of a member
// and ": ", such as messages[1].role.
package member
