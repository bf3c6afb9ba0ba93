package main

import (
	"context"
	"errors"
	"math/rand/v2"
)

type diceIn struct {
	Count int `json:"count" jsonschema:"how many dice, at most 100" default:"1"`
	Sides int `json:"sides" jsonschema:"how many sides each has" enum:"4,6,8,10,12,20" default:"6"`
}

type diceOut struct {
	Rolls []int `json:"rolls"`
	Sum   int   `json:"sum"`
}

func rollDice(_ context.Context, in diceIn) (out diceOut, err error) {
	if in.Count < 1 || in.Count > 100 {
		return out, errors.New("roll between 1 and 100 dice")
	}
	for range in.Count {
		roll := 1 + rand.IntN(in.Sides)
		out.Rolls, out.Sum = append(out.Rolls, roll), out.Sum+roll
	}
	return out, nil
}
