// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Subjects of bars.
const (
	barValue = "value"
	barP99   = "p99"
	barRatio = "ratio"
)

// figure is one row of the table.
type figure struct {
	Case string `json:"case"`
	What string `json:"what"`
	// Unit of Value, P99 and Limit; empty for counts.
	Unit string `json:"unit,omitempty"`
	// Value is the median of the samples.
	Value float64 `json:"value"`
	// P99 is the 99th percentile of the samples.
	P99 *float64 `json:"p99,omitempty"`
	// Samples is the number of measurements.
	Samples int `json:"samples,omitempty"`
	// Limit is the median of what a bare client takes, Ratio the value in relation to it.
	Limit *float64 `json:"limit,omitempty"`
	Ratio *float64 `json:"ratio,omitempty"`
	Bar   *bar     `json:"bar,omitempty"`
	// Note says what a number does not.
	Note string `json:"note,omitempty"`
}

// bar is a goal.
type bar struct {
	On string `json:"on"`
	// Exact means that the bar is to be met exactly; otherwise it is an upper bound.
	Exact bool    `json:"exact,omitempty"`
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
}

// speed compares times with those of a bare client.
func speed(what string, times, limits []time.Duration) figure {
	return comparison(what, "ms", milliseconds(times), milliseconds(limits))
}

// comparison compares values with a limit.
func comparison(what, unit string, values, limits []float64) figure {
	value, limit := percentile(values, 0.5), percentile(limits, 0.5)
	ratio := value / limit
	return figure{What: what, Unit: unit, Value: value, Samples: len(values), Limit: &limit, Ratio: &ratio}
}

// latency is the median of times, with the 99th percentile.
func latency(what string, times []time.Duration) figure {
	values := milliseconds(times)
	p99 := percentile(values, 0.99)
	return figure{What: what, Unit: "ms", Value: percentile(values, 0.5), P99: &p99, Samples: len(times)}
}

// amount is a number with a unit.
func amount(what string, value float64, unit string) figure {
	return figure{What: what, Unit: unit, Value: value}
}

// most is the largest of several counts.
func most(what string, counts ...int) figure {
	return figure{What: what, Value: float64(slices.Max(counts)), Samples: len(counts)}
}

// atMost sets the bar.
func (f figure) atMost(on string, value float64) figure {
	part := f.Value
	switch {
	case on == barP99 && f.P99 != nil:
		part = *f.P99
	case on == barRatio && f.Ratio != nil:
		part = *f.Ratio
	}
	f.Bar = &bar{On: on, Value: value, Met: part <= value}
	return f
}

// exactly sets a bar that the value has to meet exactly.
func (f figure) exactly(value float64) figure {
	f.Bar = &bar{On: barValue, Exact: true, Value: value, Met: f.Value == value}
	return f
}

// cells returns the row of the table.
func (f figure) cells() []string {
	row := []string{f.Case, f.What, number(f.Value) + pad(f.Unit), "", "", "", "", f.Note}
	if f.P99 != nil {
		row[3] = number(*f.P99) + pad(f.Unit)
	}
	if f.Limit != nil {
		row[4] = number(*f.Limit) + pad(f.Unit)
	}
	if f.Ratio != nil {
		row[5] = number(*f.Ratio)
	}
	if f.Bar != nil {
		row[6] = f.Bar.text(f.Unit)
	}
	return row
}

// text returns the cell of the table.
func (b *bar) text(unit string) string {
	text := "<= " + number(b.Value)
	if b.Exact {
		text = "= " + number(b.Value)
	}
	switch b.On {
	case barRatio:
		text += " x limit"
	case barP99:
		text = "p99 " + text + pad(unit)
	default:
		text += pad(unit)
	}
	if b.Met {
		return text + ": met"
	}
	return text + ": MISSED"
}

func pad(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

// number formats with three digits, without an exponent.
func number(value float64) string {
	if math.Abs(value) >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	text := strconv.FormatFloat(value, 'g', 3, 64)
	if strings.Contains(text, "e") {
		text = fmt.Sprintf("%.4f", value)
	}
	return text
}

// percentile returns the value that the share of the values does not exceed; with 0.5, the median.
func percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if middle := len(sorted) / 2; share == 0.5 && len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func milliseconds(durations []time.Duration) []float64 {
	values := make([]float64, len(durations))
	for i, d := range durations {
		values[i] = d.Seconds() * 1000
	}
	return values
}
