// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releasefile"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

// upOptions are the options of clm up.
type upOptions struct {
	changeOptions
	fileFlags

	deleteMissing bool
	convert       string
}

func newUpCommand(e *environment) *cobra.Command {
	o := upOptions{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Apply the releases that a file lists",
		Long: `Apply all releases that a file lists: releases that depend on others when these are ready, and all others at the same time. Releases that the file
renders as they were applied last are left alone; for each of them, clm sends one request. Objects of these that others have changed are corrected by clm drift.

clm shows one plan for all releases, and asks once. Releases that depend on others which change are planned again when it is their turn. If a release fails, those
that depend on it are not applied; all others are. To continue, run the same command again.

Releases in the namespaces of the file that were applied from it and are not in it any more are named, and deleted only with --delete-missing; clm asks
about each of them, and without a terminal needs --yes.

The page "Apply many releases" explains the file.`,
		Example: "  clm up -f releases.yaml --environment test\n  clm up plan -f releases.yaml -o markdown\n  clm up --convert helmfile.yaml > releases.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			if o.convert != "" {
				return runConvert(e, o.convert)
			}
			return o.run(command, e)
		},
	}
	o.addFlags(command.Flags())
	addCourseFlags(command.Flags(), &o.changeOptions)
	addDeletionFlags(command.Flags(), &o.maxDeletions, &o.approved)
	command.Flags().BoolVar(&o.strict, "strict", false, strictUsage)
	command.Flags().BoolVar(&o.deleteMissing, "delete-missing", false, "at the end, delete the releases that were applied from the file and are not in it any more")
	command.Flags().Var(filePath(&o.convert), "convert", "read this helmfile, and print it in the form of clm")
	command.AddCommand(newUpPlanCommand(e, false), newUpPlanCommand(e, true), newUpStatusCommand(e), newUpDeleteCommand(e))
	return command
}

// fileFlags select the releases.
type fileFlags struct {
	file        string
	environment string
	parallel    int
}

func (f *fileFlags) addFlags(flags *pflag.FlagSet) {
	const atOnce = 4
	f.file, f.parallel = "releases.yaml", atOnce
	flags.VarP(filePath(&f.file), "file", "f", "`file` that lists the releases")
	flags.StringVarP(&f.environment, "environment", "e", "", "`name` of one of the environments in the file (default none)")
	flags.Var(number(&f.parallel, 1), "parallel", "maximum `number` of releases to plan or apply at the same time")
}

// fleet has the releases of a file.
type fleet struct {
	*environment
	fileFlags

	// name identifies the releases of the file and its environment in the cluster.
	name         string
	members      []*fleetMember
	destinations map[string]destination // by context
	lines        sync.Mutex             // is held while a line is written
}

// destination is the cluster of a context.
type destination struct {
	*environment

	connection *runner.Connection
}

// fleetMember is a release of a file.
type fleetMember struct {
	releasefile.Member
	*environment // whose lines begin with the release

	connection *runner.Connection
	request    operation.Request
	// plan is nil if it cannot be made because of problem.
	plan    *operation.Plan
	problem error
	// waits are the members that change first; if there are none, the plan is final.
	waits []*fleetMember
	// ended is closed when the release has been applied, or cannot be.
	ended   chan struct{}
	outcome error
}

// open reads the file and connects to its clusters. Events are for programs.
func (f fileFlags) open(command *cobra.Command, e *environment, events bool) (*fleet, error) {
	name, members, err := releasefile.Load(f.file, releasefile.Options{
		Environment: f.environment, Context: e.context(), Getenv: os.LookupEnv,
		Namespace: func(context string) (string, error) { return e.inContext(command, context).namespace() },
	})
	if err != nil {
		return nil, err
	}
	opened := &fleet{environment: e, fileFlags: f, name: name, destinations: map[string]destination{}}
	for _, each := range members {
		m := &fleetMember{Member: each, ended: make(chan struct{})}
		shared, err := opened.connect(command, each.Context)
		if err != nil {
			opened.close()
			return nil, err
		}
		m.environment = e.beside(&opened.lines, m.String()+": ")
		m.connection = shared.connection.With(m.printer(events))
		opened.members = append(opened.members, m)
	}
	return opened, nil
}

// connect connects to the cluster of a context, once.
func (f *fleet) connect(command *cobra.Command, name string) (destination, error) {
	if known, found := f.destinations[name]; found {
		return known, nil
	}
	e := f.environment.inContext(command, name)
	s, err := e.open(command.Context(), false)
	if err != nil {
		return destination{}, err
	}
	f.destinations[name] = destination{e, s}
	return f.destinations[name], nil
}

func (f *fleet) close() {
	for _, m := range f.members {
		if m.plan != nil {
			m.plan.Close()
		}
	}
	for _, c := range f.destinations {
		c.connection.Close()
	}
}

// run plans, asks, and applies.
func (o *upOptions) run(command *cobra.Command, e *environment) error {
	ctx := command.Context()
	if err := o.check(); err != nil {
		return err
	}
	f, err := o.open(command, e, o.events())
	if err != nil {
		return err
	}
	defer f.close()
	c := e.consent(o.yes || o.dryRun.isSet(), true)
	defer c.Close()
	c.context = f.contexts()
	missing, err := o.prepare(ctx, f, c)
	if err != nil || o.dryRun.isSet() {
		return err
	}
	if pending := f.pending(); len(pending) > 0 {
		if err := c.get(ctx, fmt.Sprintf("Apply %d of %s?", len(pending), display.Count(len(f.members), "release"))); err != nil {
			return err
		}
	}
	if err := f.apply(ctx, o, c.needed()); err != nil || !o.deleteMissing {
		return err
	}
	if missing, err = f.stillMissing(ctx, missing); err != nil {
		return err
	}
	return f.delete(ctx, deleteOptions{Limits: o.Limits, operationFlags: o.operationFlags}, missing)
}

// prepare makes the plans, shows them if necessary, and returns the releases that are not in the file any more.
func (o *upOptions) prepare(ctx context.Context, f *fleet, c consent) ([]recordedRelease, error) {
	if err := f.plan(ctx, o.planFlags, c.needed() || o.compares()); err != nil {
		return nil, err
	}
	missing, err := f.missing(ctx)
	if err != nil {
		return nil, err
	}
	if c.needed() || o.diff.show || o.dryRun.isSet() {
		out := f.out
		if !o.dryRun.isSet() {
			out = c.out()
		}
		if err := f.show(out, o.diff); err != nil {
			return nil, err
		}
	}
	f.nameMissing(missing)
	return missing, f.refusal(o.planFlags)
}

// contexts names the contexts in which there are releases.
func (f *fleet) contexts() string {
	var names []string
	for name := range f.destinations {
		names = append(names, cmp.Or(name, f.context()))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " and ")
}

// pending returns the members that are not left alone.
func (f *fleet) pending() []*fleetMember {
	return slices.DeleteFunc(slices.Clone(f.members), func(m *fleetMember) bool { return !m.isPending() })
}

// isPending reports whether the plan of the member does something, could not be made, or is made again.
func (m *fleetMember) isPending() bool { return m.plan == nil || !m.plan.Idle() || len(m.waits) > 0 }

// apply applies all members, each after those that it needs. Confirmed means that a user has seen the plans.
func (f *fleet) apply(ctx context.Context, o *upOptions, confirmed bool) error {
	room := make(chan struct{}, f.parallel)
	pending := f.pending() // before any plan is carried out
	var all sync.WaitGroup
	for _, m := range f.members {
		all.Go(func() {
			defer close(m.ended)
			if m.outcome = f.awaitNeeds(m); m.outcome != nil || !slices.Contains(pending, m) {
				return
			}
			room <- struct{}{}
			defer func() { <-room }()
			m.outcome = m.apply(ctx, o, confirmed && len(m.waits) == 0)
		})
	}
	all.Wait()
	return f.conclude()
}

// awaitNeeds waits until the members have ended that a member needs. The error is a skippedError if one has failed.
func (f *fleet) awaitNeeds(m *fleetMember) error {
	for _, i := range m.Needs {
		needed := f.members[i]
		<-needed.ended
		if needed.outcome != nil {
			return &skippedError{needed: needed.String()}
		}
	}
	return nil
}

// skippedError means that a release was not applied because of another one.
type skippedError struct{ needed string }

func (e *skippedError) Error() string {
	return "not applied, because it depends on release " + e.needed
}

// apply carries out the plan of the member, if it is the one that was confirmed, or else a new one.
func (m *fleetMember) apply(ctx context.Context, o *upOptions, confirmed bool) error {
	options := o.changeOptions
	if m.Timeout != nil {
		options.Timeout = m.Timeout.Duration
	}
	options.hideNotes = true
	if confirmed {
		options.Exact = true
		if err := m.plan.AwaitDependencies(ctx, m.Recorded, &options.Timeout); err != nil {
			return err
		}
		return options.carryOut(ctx, m.environment, m.connection, m.plan, consent{})
	}
	return m.again(m.connection, attempts, func() error {
		request := m.request
		request.Await = &options.Timeout
		p, err := operation.PlanSources(ctx, m.connection, request, options.compares())
		if err != nil {
			return err
		}
		defer p.Close()
		if p.Idle() {
			return nil
		}
		if err := errors.Join(options.limitDeletions(p), options.refusal(p)); err != nil {
			return err
		}
		return options.carryOut(ctx, m.environment, m.connection, p, consent{})
	})
}

// conclude shows what has become of the members, and returns the first error.
func (f *fleet) conclude() error {
	var first error
	failed, skipped := 0, 0
	for _, m := range f.members {
		switch {
		case m.outcome == nil:
			continue
		case is[*skippedError](m.outcome):
			skipped++
		default:
			failed++
		}
		if exit, shown := errors.AsType[*exitError](m.outcome); first == nil && shown {
			first = exit
		} else if first == nil && !is[*skippedError](m.outcome) {
			first = &exitError{code: exitCode(m.outcome)}
		}
		if !is[*exitError](m.outcome) {
			fmt.Fprintf(f.err, "%s: %s\n", m, display.CleanLines(inLines(m.outcome)))
		}
	}
	text := fmt.Sprintf("%d of %s as in the file", len(f.members)-failed-skipped, display.Count(len(f.members), "release"))
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if skipped > 0 {
		text += fmt.Sprintf(", %d not applied", skipped)
	}
	if failed+skipped > 0 {
		text += "; to continue, run the same command again"
	}
	fmt.Fprintln(f.err, text)
	return first
}

// beside returns an environment whose lines are written beside those of others, each after a prefix.
func (e *environment) beside(lines *sync.Mutex, prefix string) *environment {
	other := *e
	other.err = &besideWriter{mu: lines, out: e.err, prefix: prefix}
	other.out = &besideWriter{mu: lines, out: e.out}
	return &other
}

// besideWriter writes whole lines after a prefix.
type besideWriter struct {
	mu     *sync.Mutex
	out    io.Writer
	prefix string
	rest   string
}

// Write keeps the last line until it is complete.
func (w *besideWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var complete strings.Builder
	w.rest += string(text)
	for {
		line, after, found := strings.Cut(w.rest, "\n")
		if !found {
			break
		}
		complete.WriteString(w.prefix + line + "\n")
		w.rest = after
	}
	if complete.Len() == 0 {
		return len(text), nil
	}
	_, err := io.WriteString(w.out, complete.String())
	return len(text), err
}

// inContext returns an environment with the same flags, but another context; empty for the same.
func (e *environment) inContext(command *cobra.Command, name string) *environment {
	if name == "" {
		return e
	}
	other := *e
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	other.addFlags(flags)
	other.started = e.started
	command.Flags().Visit(func(given *pflag.Flag) {
		same := flags.Lookup(given.Name)
		if same == nil {
			return
		}
		list, isList := given.Value.(pflag.SliceValue)
		sameList, _ := same.Value.(pflag.SliceValue)
		if isList && sameList != nil {
			_ = sameList.Replace(list.GetSlice()) // it was valid
		} else {
			_ = same.Value.Set(given.Value.String())
		}
	})
	*other.kube.Context = name
	return &other
}
