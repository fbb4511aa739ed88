// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The parts of a figure that a bar can be set for.
const (
	barValue = "value"
	barP99   = "p99"
	barRatio = "ratio"
)

// A figure is one thing that a case has measured or counted.
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

// A bar is what a figure should reach.
type bar struct {
	// On is value, p99 or ratio.
	On string `json:"on"`
	// Exact means that the bar is to be met exactly; else it is an upper bound.
	Exact bool    `json:"exact,omitempty"`
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
}

// speed is a time in relation to that of a bare client.
func speed(what string, times, limits []time.Duration) figure {
	value, limit := median(milliseconds(times)), median(milliseconds(limits))
	ratio := value / limit
	return figure{What: what, Unit: "ms", Value: value, Samples: len(times), Limit: &limit, Ratio: &ratio}
}

// latency is a time that counts by its rare worst cases.
func latency(what string, times []time.Duration) figure {
	values := milliseconds(times)
	p99 := percentile(values, 0.99)
	return figure{What: what, Unit: "ms", Value: median(values), P99: &p99, Samples: len(times)}
}

// amount is a number of anything.
func amount(what string, value float64, unit string) figure {
	return figure{What: what, Unit: unit, Value: value}
}

// count is a number of requests or objects.
func count(what string, n int) figure {
	return amount(what, float64(n), "")
}

// most is the largest of several counts, of which each has to meet the bar.
func most(what string, counts []int) figure {
	largest := 0
	for _, n := range counts {
		largest = max(largest, n)
	}
	f := count(what, largest)
	f.Samples = len(counts)
	return f
}

// atMost sets an upper bound.
func (f figure) atMost(on string, value float64) figure {
	f.Bar = &bar{On: on, Value: value, Met: f.part(on) <= value}
	return f
}

// exactly sets the only value that is right.
func (f figure) exactly(value float64) figure {
	f.Bar = &bar{On: barValue, Exact: true, Value: value, Met: f.Value == value}
	return f
}

// noted adds a note.
func (f figure) noted(format string, args ...any) figure {
	f.Note = fmt.Sprintf(format, args...)
	return f
}

func (f figure) part(on string) float64 {
	switch {
	case on == barP99 && f.P99 != nil:
		return *f.P99
	case on == barRatio && f.Ratio != nil:
		return *f.Ratio
	default:
		return f.Value
	}
}

// missed tells whether there is a bar that the figure does not reach.
func (f figure) missed() bool {
	return f.Bar != nil && !f.Bar.Met
}

// cells are the columns of the figure's row.
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

func (b *bar) text(unit string) string {
	sign, suffix, prefix := "<= ", pad(unit), ""
	if b.Exact {
		sign = "= "
	}
	if b.On == barRatio {
		suffix = " x limit"
	}
	if b.On == barP99 {
		prefix = "p99 "
	}
	verdict := "met"
	if !b.Met {
		verdict = "MISSED"
	}
	return prefix + sign + number(b.Value) + suffix + ": " + verdict
}

func pad(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

// number prints three significant digits, or all digits before the point.
func number(value float64) string {
	if value >= 100 || value <= -100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	text := strconv.FormatFloat(value, 'g', 3, 64)
	if strings.Contains(text, "e") {
		text = strconv.FormatFloat(value, 'f', 4, 64)
	}
	return text
}
