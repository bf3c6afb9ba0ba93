package main

import (
	"encoding/json"
	"net/http"

	"github.com/graphql-go/graphql"
)

// newGraphQL returns the GraphQL API, which shows a customer.
func newGraphQL(s *store) (http.Handler, error) {
	whole, text := graphql.NewNonNull(graphql.Int), graphql.NewNonNull(graphql.String)
	order := graphql.NewObject(graphql.ObjectConfig{Name: "Order", Fields: graphql.Fields{
		"id":          {Type: whole},
		"product":     {Type: text},
		"quantity":    {Type: whole},
		"total_cents": {Type: whole},
	}})
	account := graphql.NewObject(graphql.ObjectConfig{Name: "Customer", Fields: graphql.Fields{
		"id":   {Type: whole},
		"name": {Type: text},
		"city": {Type: text},
		"orders": {
			Type: graphql.NewList(order),
			Args: graphql.FieldConfigArgument{"last": {Type: graphql.Int, DefaultValue: 10}},
			Resolve: func(p graphql.ResolveParams) (any, error) {
				last, _ := p.Args["last"].(int) // absent for null
				return s.orders(p.Context, p.Source.(customer).ID, last)
			},
		},
	}})
	schema, err := graphql.NewSchema(graphql.SchemaConfig{Query: graphql.NewObject(graphql.ObjectConfig{Name: "Query", Fields: graphql.Fields{
		"customer": {
			Type:    account,
			Args:    graphql.FieldConfigArgument{"id": {Type: whole}},
			Resolve: func(p graphql.ResolveParams) (any, error) { return s.customer(p.Context, p.Args["id"].(int)) },
		},
	}})})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Query         string
			OperationName string
			Variables     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			fail(w, refused(http.StatusBadRequest, "not a GraphQL request: %v", err))
			return
		}
		answer(w, http.StatusOK, graphql.Do(graphql.Params{
			Schema: schema, RequestString: in.Query, OperationName: in.OperationName, VariableValues: in.Variables, Context: r.Context(),
		}))
	}), nil
}
