// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

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
	"strings"
	"time"
)

// options are the flags.
type options struct {
	file    string
	names   string
	pkg     string
	list    bool
	race    bool
	verbose bool
	timeout time.Duration
	least   float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 2
	}
	os.Exit(code)
}

// run returns the exit code: 1 if too little is noticed. An error means that nothing was measured.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	}
	if err != nil {
		return 2, err
	}
	all, err := read(o.file)
	if err != nil {
		return 2, err
	}
	chosen, err := choose(all, o)
	if err != nil {
		return 2, err
	}
	l := &lab{race: o.race, timeout: o.timeout, log: io.Discard}
	if o.verbose {
		l.log = out
	}
	var results []result
	if o.list {
		for _, m := range chosen {
			results = append(results, l.check(m))
		}
		return listed(out, results), nil
	}
	broken, err := l.baseline(ctx, chosen)
	if err != nil {
		return 2, err
	}
	for _, m := range chosen {
		r := result{mutant: m, verdict: failing, detail: "these tests also fail without the change"}
		if !broken[m.target()] {
			r = l.try(ctx, m)
		}
		if ctx.Err() != nil {
			return 2, errors.New("interrupted")
		}
		fmt.Fprintln(out, r.line())
		results = append(results, r)
	}
	return score(out, results, o.least), nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&o.file, "file", "internal/mutants/mutants.yaml", "the list of mutants")
	flags.StringVar(&o.names, "run", "", "take only mutants whose name matches this regular expression")
	flags.StringVar(&o.pkg, "package", "", "take only mutants of files whose path contains this")
	flags.BoolVar(&o.list, "list", false, "only check that the list fits the code, and print it")
	flags.BoolVar(&o.race, "race", false, "build with the race detector; slower, and no mutant needs it")
	flags.BoolVar(&o.verbose, "v", false, "print the output of the tests")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long the tests of one mutant may take; more counts as noticed")
	flags.Float64Var(&o.least, "least", 95, "percentage of mutants that must be noticed")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected arguments: %s", strings.Join(flags.Args(), " "))
	}
	return o, nil
}

// choose returns the mutants that the flags ask for.
func choose(all []mutant, o options) ([]mutant, error) {
	names, err := regexp.Compile(o.names)
	if err != nil {
		return nil, fmt.Errorf("flag -run: %w", err)
	}
	var chosen []mutant
	for _, m := range all {
		if names.MatchString(m.Name) && strings.Contains(m.File, o.pkg) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutant fits the flags -run and -package")
	}
	return chosen, nil
}
