// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures operators and clm in a sandbox, and compares the figures with the bars of the project. The page
// Performance of the documentation describes the cases.
//
// +groupName=bench.component-operator.io
// +versionName=v1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// A benchmark is one thing to measure. Its error says that it could not be measured; figures are also reported then.
type benchmark struct {
	name    string
	measure func(ctx context.Context, l *lab) ([]figure, error)
}

// benchmarks returns all cases in the order in which they are measured.
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
		{"charts", charts},
		{"noop", noop},
		{"cold-start", coldStart},
		{"memory", memory},
	}
}

// options are the command line.
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
	// Controllers would take part of the time of the API server.
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
	// The garbage of earlier cases must not be collected at the cost of this one.
	runtime.GC()
	return b.measure(ctx, l)
}
