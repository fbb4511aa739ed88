// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures operators and clm in a sandbox, and compares the figures with the project's bars. The page Performance
// of the documentation describes the cases.
//
// +groupName=bench.component-operator.io
// +versionName=v1
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// A benchmark measures one case. It returns an error if measuring failed; figures are reported even then.
type benchmark struct {
	name    string
	measure func(ctx context.Context, l *lab) ([]figure, error)
}

// benchmarks returns all cases in the order of measurement.
func benchmarks() []benchmark {
	return []benchmark{
		{"create-component", createComponent},
		{"create-engine", createEngine},
		{"waves", createWaves},
		{"restart", restart},
		{"change-one", changeOne},
		{"heal", heal},
		{"rest", atRest},
		{"clm", commandLine},
		{"pages", pages},
		{"charts", charts},
		{"noop", noop},
		{"cold-start", coldStart},
		{"memory", memory},
		{"preview", preview},
	}
}

// options are the flags of the command line.
type options struct {
	short, strict bool
	repeats       int
	run           *regexp.Regexp
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o, os.Stdout)
		stop()
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var names []string
	for _, b := range benchmarks() {
		names = append(names, b.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "measure less, within three minutes")
	flags.BoolVar(&o.strict, "strict", false, "fail if a bar is missed")
	flags.IntVar(&o.repeats, "n", 0, "how often to measure what is compared with a limit (default 5; 1 with -short)")
	pattern := flags.String("run", "", "measure only the cases whose names match this `regexp`: "+strings.Join(names, ", "))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
	}
	switch {
	case o.repeats < 0:
		return o, fmt.Errorf("-n %d: must not be negative", o.repeats)
	case o.repeats == 0 && o.short:
		o.repeats = 1
	case o.repeats == 0:
		o.repeats = 5
	}
	var err error
	if o.run, err = regexp.Compile(*pattern); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	return o, nil
}

// run starts a sandbox, measures in it, reports, and stops it.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	// Controllers would take some of the API server's time.
	box, err := sandbox.Start(ctx, sandbox.Options{APIServerOnly: true, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Stop(context.WithoutCancel(ctx))) }()
	r := &report{}
	for _, b := range benchmarks() {
		if !o.run.MatchString(b.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, b.name)
		figures, err := measure(ctx, box, b, o)
		r.add(b.name, figures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(r.print(ctx, out, o), box.Failure())
}

// measure measures one case.
func measure(ctx context.Context, box *sandbox.Sandbox, b benchmark, o options) (figures []figure, err error) {
	l, err := newLab(ctx, box.Config(), b.name, o)
	if err != nil {
		return nil, err
	}
	l.kubeconfig = box.Kubeconfig()
	defer func() { err = errors.Join(err, l.close(context.WithoutCancel(ctx))) }()
	// Collecting the garbage of earlier cases must not slow down this one.
	runtime.GC()
	return b.measure(ctx, l)
}

// Subjects of bars.
const (
	barValue = "value"
	barP99   = "p99"
	barRatio = "ratio"
)

// figure is one row of the table.
type figure struct {
	what string
	// unit is the unit of value, p99 and limit; empty for counts.
	unit string
	// value is the median of the samples, p99 the 99th percentile, limit the value of a bare client; 0 for none.
	value, p99, limit float64
	// bar is the cell with the goal, if any; missed reports whether the goal is missed.
	bar    string
	missed bool
	// note explains the numbers.
	note string
}

// speed compares times with those of a bare client.
func speed(what string, times, limits []time.Duration) figure {
	return comparison(what, "ms", milliseconds(times), milliseconds(limits))
}

// comparison compares values with a limit.
func comparison(what, unit string, values, limits []float64) figure {
	return figure{what: what, unit: unit, value: percentile(values, 0.5), limit: percentile(limits, 0.5)}
}

// latency returns the median of times, with the 99th percentile.
func latency(what string, times []time.Duration) figure {
	values := milliseconds(times)
	return figure{what: what, unit: "ms", value: percentile(values, 0.5), p99: percentile(values, 0.99)}
}

// amount returns a number with a unit.
func amount(what string, value float64, unit string) figure {
	return figure{what: what, unit: unit, value: value}
}

// most returns the largest of several counts.
func most(what string, counts ...int) figure {
	return figure{what: what, value: float64(slices.Max(counts))}
}

// atMost sets an upper limit as the bar.
func (f figure) atMost(on string, value float64) figure {
	f.bar, f.missed = "<= "+quantity(value, f.unit), f.value > value
	switch on {
	case barP99:
		f.bar, f.missed = "p99 "+f.bar, f.p99 > value
	case barRatio:
		f.bar, f.missed = "<= "+number(value)+" x limit", f.value/f.limit > value
	}
	return f
}

// exactly sets a bar that the value must meet exactly.
func (f figure) exactly(value float64) figure {
	f.bar, f.missed = "= "+quantity(value, f.unit), f.value != value
	return f
}

// cells returns the row of the table.
func (f figure) cells() []string {
	row := []string{f.what, quantity(f.value, f.unit), "", "", "", "", f.note}
	if f.p99 > 0 {
		row[2] = quantity(f.p99, f.unit)
	}
	if f.limit > 0 {
		row[3], row[4] = quantity(f.limit, f.unit), number(f.value/f.limit)
	}
	if f.bar != "" {
		row[5] = f.bar + map[bool]string{false: ": met", true: ": MISSED"}[f.missed]
	}
	return row
}

func quantity(value float64, unit string) string {
	return strings.TrimSpace(number(value) + " " + unit)
}

// number formats with three significant digits, without an exponent.
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

// percentile returns the value that the given share of the values does not exceed; with 0.5, the median.
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

// report contains the figures of a run.
type report struct {
	rows     [][]string
	missed   int
	failures []string // cases that could not be measured
}

// add adds the figures of a case.
func (r *report) add(name string, figures []figure, err error) {
	for _, f := range figures {
		r.rows = append(r.rows, append([]string{name}, f.cells()...))
		if f.missed {
			r.missed++
		}
	}
	if err != nil {
		r.failures = append(r.failures, fmt.Sprintf("%s: NOT MEASURED: %s", name, err))
	}
}

// print prints the table.
func (r *report) print(ctx context.Context, out io.Writer, o options) error {
	commit, _ := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output() // empty if it fails
	mode := fmt.Sprintf("medians of %d", o.repeats)
	if o.short {
		mode = "short run"
	}
	fmt.Fprintf(out, "commit %s, %s, %d cores, %s\n\n", cmp.Or(strings.TrimSpace(string(commit)), "unknown"), runtime.Version(), runtime.NumCPU(), mode)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	for _, row := range append([][]string{{"case", "figure", "value", "p99", "limit", "x limit", "bar", "note"}}, r.rows...) {
		fmt.Fprintln(table, "| "+strings.Join(row, "\t| ")+"\t|")
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for _, failure := range r.failures {
		fmt.Fprintf(out, "\n%s\n", failure)
	}
	fmt.Fprintf(out, "\n%d figures, %d bars missed, %d cases not measured\n", len(r.rows), r.missed, len(r.failures))
	if len(r.failures) > 0 || o.strict && r.missed > 0 {
		return fmt.Errorf("%d cases could not be measured, and %d bars were missed", len(r.failures), r.missed)
	}
	return nil
}
