package openapi_test

import (
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
)

// A document becomes definitions of the kind rest.
func ExampleImport() {
	api, err := openapi.Import([]byte(`
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: https://shop.example/v1}]
paths:
  /products/{id}:
    get:
      operationId: getProduct
      summary: Gets one product.
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
      responses: {200: {description: The product.}}
  /orders:
    delete:
      operationId: deleteOrders
      deprecated: true
      responses: {204: {description: Gone.}}
`), openapi.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(api.URL)
	for _, d := range api.Definitions {
		fmt.Printf("%s: %s\n%s\n%s\n", d.Tool.Name, d.Tool.Description, d.Tool.InputSchema, d.Spec)
	}
	for _, n := range api.Notes {
		fmt.Println(n)
	}
	// Output:
	// https://shop.example/v1
	// getProduct: Gets one product.
	// {"type":"object","properties":{"id":{"type":"integer"},"fields":{"type":"array","items":{"type":"string"}}},"required":["id"],"additionalProperties":false}
	// {"method":"GET","path":"/products/{id}?fields={fields}","encoding":{"fields":{"style":"form","explode":false}}}
	// deleteOrders: DELETE /orders is left out, as it is deprecated ("deprecated": true includes it)
}
