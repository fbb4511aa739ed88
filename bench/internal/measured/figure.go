// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The parts of a figure that a bar can be set for.
const (
	BarValue = "value"
	BarP99   = "p99"
	BarRatio = "ratio"
)

// A Figure is one thing that a case has measured or counted.
type Figure struct {
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

// Speed is a time in relation to that of a bare client.
func Speed(what string, times, limits []time.Duration) Figure {
	return Comparison(what, "ms", Milliseconds(times), Milliseconds(limits))
}

// Comparison is an amount in relation to a limit.
func Comparison(what, unit string, values, limits []float64) Figure {
	value, limit := Median(values), Median(limits)
	ratio := value / limit
	return Figure{What: what, Unit: unit, Value: value, Samples: len(values), Limit: &limit, Ratio: &ratio}
}

// Latency is a time that counts by its rare worst cases.
func Latency(what string, times []time.Duration) Figure {
	values := Milliseconds(times)
	p99 := percentile(values, 0.99)
	return Figure{What: what, Unit: "ms", Value: Median(values), P99: &p99, Samples: len(times)}
}

// Amount is a number of anything.
func Amount(what string, value float64, unit string) Figure {
	return Figure{What: what, Unit: unit, Value: value}
}

// Count is a number of requests or objects.
func Count(what string, n int) Figure {
	return Amount(what, float64(n), "")
}

// Most is the largest of several counts, of which each has to meet the bar.
func Most(what string, counts []int) Figure {
	largest := 0
	for _, n := range counts {
		largest = max(largest, n)
	}
	f := Count(what, largest)
	f.Samples = len(counts)
	return f
}

// AtMost sets an upper bound.
func (f Figure) AtMost(on string, value float64) Figure {
	f.Bar = &bar{On: on, Value: value, Met: f.part(on) <= value}
	return f
}

// Exactly sets the only value that is right.
func (f Figure) Exactly(value float64) Figure {
	f.Bar = &bar{On: BarValue, Exact: true, Value: value, Met: f.Value == value}
	return f
}

// Noted adds a note.
func (f Figure) Noted(format string, args ...any) Figure {
	f.Note = fmt.Sprintf(format, args...)
	return f
}

func (f Figure) part(on string) float64 {
	switch {
	case on == BarP99 && f.P99 != nil:
		return *f.P99
	case on == BarRatio && f.Ratio != nil:
		return *f.Ratio
	default:
		return f.Value
	}
}

// Missed tells whether there is a bar that the figure does not reach.
func (f Figure) missed() bool {
	return f.Bar != nil && !f.Bar.Met
}

// cells are the columns of the figure's row.
func (f Figure) cells() []string {
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
	if b.On == BarRatio {
		suffix = " x limit"
	}
	if b.On == BarP99 {
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
