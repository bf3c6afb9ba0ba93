package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
)

//go:generate go run ../../cmd/mcpbridge gen

// climate holds the usual temperatures of cities, in degrees Celsius by month.
var climate = map[string][12]float64{
	"london": {5, 6, 8, 10, 13, 17, 19, 19, 16, 12, 8, 6},
	"paris":  {5, 6, 9, 12, 16, 19, 21, 21, 17, 13, 8, 5},
	"rome":   {8, 9, 11, 14, 18, 23, 26, 26, 22, 17, 13, 9},
}

// GetWeather gets the usual temperature of a city in July. It knows London, Paris and
// Rome.
//
//   - location: the city, as in Rome
//   - unit: the temperature unit to use
//
//mcpbridge:tool
//mcpbridge:param unit enum:"celsius,fahrenheit" default:"celsius"
func GetWeather(location, unit string) (string, error) {
	months, err := find(location)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.0f degrees %s in %s", degrees(months[6], unit), unit, location), nil
}

// YearIn are the arguments of GetYear.
type YearIn struct {
	Cities []string `json:"cities"`                                           // the cities, as in Rome
	Unit   string   `json:"unit" enum:"celsius,fahrenheit" default:"celsius"` // the temperature unit to use
	Months int      `json:"months,omitempty" jsonschema:"how many months; 0 for all"`
}

// A Year holds the usual temperatures of a city.
type Year struct {
	City    string    `json:"city"`
	Degrees []float64 `json:"degrees"` // by month, from January on
}

// Years is the result of GetYear.
type Years struct {
	Years []Year `json:"years"`
}

// GetYear gets the usual temperatures of cities, month by month.
//
//mcpbridge:tool name=get_year_of_weather
func GetYear(ctx context.Context, in YearIn) (Years, error) {
	var all Years
	for i, city := range in.Cities {
		months, err := find(city)
		if err != nil {
			return Years{}, err
		}
		year := Year{City: city}
		for _, celsius := range months {
			year.Degrees = append(year.Degrees, degrees(celsius, in.Unit))
		}
		if in.Months > 0 {
			year.Degrees = year.Degrees[:min(in.Months, len(year.Degrees))]
		}
		all.Years = append(all.Years, year)
		bridge.Progress(ctx, float64(i+1), float64(len(in.Cities)), city)
	}
	return all, nil
}

// find finds a city in any letter case. The model gets its error and can correct the call.
func find(city string) ([12]float64, error) {
	months, ok := climate[strings.ToLower(city)]
	if !ok {
		return months, fmt.Errorf("unknown city %q: expected London, Paris or Rome", city)
	}
	return months, nil
}

func degrees(celsius float64, unit string) float64 {
	if unit == "fahrenheit" {
		return math.Round(celsius*9/5 + 32)
	}
	return celsius
}
