// Command browser serves a page that lends tools to a bridge, and asks its model.
package main

import (
	_ "embed"
	"fmt"
	"log"
	"net/http"
)

//go:embed index.html
var page []byte

func main() {
	const address = "127.0.0.1:8080"
	fmt.Println("open http://" + address)
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })))
}
