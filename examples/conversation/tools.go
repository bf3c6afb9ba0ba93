package main

import (
	"context"
	"fmt"
	"strings"
)

type weatherIn struct {
	Location string `json:"location" jsonschema:"the city, as in Paris"`
	Unit     string `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
}

// getWeather is a tool: its arguments are the fields of its struct.
func getWeather(_ context.Context, in weatherIn) (string, error) {
	switch in.Unit {
	case "fahrenheit":
		return fmt.Sprintf("Weather in %s: sunny, 72°F", in.Location), nil
	default:
		return fmt.Sprintf("Weather in %s: sunny, 22°C", in.Location), nil
	}
}

type timeIn struct {
	Location string `json:"location"`
}

// getTime is a tool that can fail; the model gets its error.
func getTime(_ context.Context, in timeIn) (string, error) {
	if in.Location != "Paris" {
		return "", fmt.Errorf("nothing is known of the time in %s", in.Location)
	}
	return "14:30", nil
}

// readBook is a tool with a long output.
func readBook(context.Context, struct{}) (string, error) {
	return strings.Repeat("All work and no play makes Jack a dull boy. ", 1000), nil
}

// sleep is a tool that never ends by itself.
func sleep(ctx context.Context, _ struct{}) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
