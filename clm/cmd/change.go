// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
)

const (
	dryRunClient = "client"
	dryRunServer = "server"

	outputJSON = "json"
)

// changeOptions are the options of commands that change a release.
type changeOptions struct {
	apply.Options

	dryRun choice
	diff   diffFlags
	yes    bool
	// undeclared means that the command line does not declare the resulting release, so the user must confirm the plan.
	undeclared   bool
	maxDeletions maxDeletions
	approved     string // identifies held deletions
	output       choice
	// failed, if set, is called when carrying out a plan has failed. The command fails in any case.
	failed func(ctx context.Context, p *apply.Plan, failure error) error
}

func addChangeFlags(flags *pflag.FlagSet, o *changeOptions) {
	addCourseFlags(flags, o)
	flags.VarPF(&noWait{options: &o.Options}, "no-wait", "", "do not wait until the last wave is ready (clm wait can do that later); with --no-wait=wave, "+
		"end at the first wave that is not ready, and with --no-wait=all, write all waves at once; redundant objects then stay until the next apply").NoOptDefVal = "true"
	flags.Var(&o.maxDeletions, "max-deletions", "refuse to delete more objects than this: a number, or a percentage of the dependents (default all but one)")
	addApprovalFlag(flags, &o.approved)
}

func addApprovalFlag(flags *pflag.FlagSet, approved *string) {
	flags.StringVar(approved, "approve-deletions", "", "delete exactly the redundant objects with prune policy confirm that a refused plan has named, with this `DIGEST`")
}

// addCourseFlags adds the flags of changes that delete nothing and that clm waits for.
func addCourseFlags(flags *pflag.FlagSet, o *changeOptions) {
	o.dryRun = choice{allowed: []string{dryRunClient, dryRunServer}}
	o.output = choice{allowed: []string{outputJSON}}
	addLimitFlags(flags, &o.Limits)
	addDiffFlags(flags, &o.diff)
	flags.BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
	flags.Var(&o.dryRun, "dry-run", "show the plan and do nothing; with 'server', ask the server what would happen to each object")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	o.HistoryMax = defaultHistory
	flags.Var(number[int]{value: &o.HistoryMax}, "history-max", "number of revisions to keep; 0 keeps all")
	o.HistoryMaxBytes = defaultHistoryBytes
	flags.Var(byteCount{value: &o.HistoryMaxBytes}, "history-max-bytes",
		"number of bytes that values and manifests of all kept revisions may take in the cluster, compressed; the oldest revisions go first; 0 sets no limit")
	flags.VarP(&o.output, "output", "o", "write events to standard output while the operation runs, one per line")
}

const (
	// defaultHistory is the number of revisions to keep.
	defaultHistory = 10
	// defaultHistoryBytes is how many bytes they may take.
	defaultHistoryBytes = 10 << 20
)

// planner makes a plan. If compare is set, it sends a dry run of each object to the server.
type planner func(s *connection.Connection, compare bool) (*apply.Plan, error)

// run makes a plan, asks for confirmation, and carries the plan out. If another client changes the release meanwhile, it starts again.
func (o *changeOptions) run(ctx context.Context, e *environment, plan planner) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := e.begin(o.events())
	if err != nil {
		return err
	}
	defer s.Close()
	limit := attempts
	if o.Exact {
		limit = 1
	}
	return e.again(s, limit, func() error { return o.attempt(ctx, e, s, plan) })
}

// events reports whether to write events for programs.
func (o *changeOptions) events() bool { return o.output.value == outputJSON }

// compares reports whether to send a dry run of each object to the server, even if no confirmation is needed.
func (o *changeOptions) compares() bool { return o.diff.show || o.dryRun.value == dryRunServer }

// errDryRunEvents prevents programs from parsing output for people.
var errDryRunEvents = errors.New("flags --output and --dry-run exclude each other: a dry run does nothing that events could report")

func (o *changeOptions) check() error {
	if o.dryRun.value != "" && o.events() {
		return errDryRunEvents
	}
	return nil
}

func (o *changeOptions) attempt(ctx context.Context, e *environment, s *connection.Connection, plan planner) error {
	c := e.consent(o.yes || o.dryRun.value != "", !o.undeclared)
	defer c.Close()
	p, err := plan(s, c.needed() || o.compares())
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Approve(ctx, o.approved, c.needed() || o.compares()); err != nil {
		return err
	}
	if o.dryRun.value != "" {
		return o.show(e, p)
	}
	if p.Idle() {
		// Objects that another client may have changed are applied nevertheless.
		if err := p.Await(ctx, o.Options); !failures.IsChanged(err) {
			return shown(err)
		}
	}
	if err := o.settle(ctx, e, p, c); err != nil {
		return err
	}
	options := o.Options
	// Only the confirmed plan is carried out, even if the cluster has changed since it was shown.
	options.Exact = options.Exact || c.needed()
	err = p.Apply(ctx, options)
	if !o.events() {
		e.explain(ctx, s, p.Release, err)
	}
	if err != nil && o.failed != nil && failures.IsFailure(err) {
		return o.failed(ctx, p, err)
	}
	return shown(err)
}

// show shows a plan that is not carried out.
func (o *changeOptions) show(e *environment, p *apply.Plan) error {
	if !o.compares() {
		noteUnverified(p)
	}
	return errors.Join(showPlan(e, e.out, p, o.diff), o.maxDeletions.check(p), p.Protected(), p.Unapproved())
}

// settle decides whether the plan may be carried out.
func (o *changeOptions) settle(ctx context.Context, e *environment, p *apply.Plan, c consent) error {
	if err := o.maxDeletions.check(p); err != nil {
		return err
	}
	if c.needed() || o.diff.show {
		if err := showPlan(e, c.out(), p, o.diff); err != nil {
			return err
		}
	}
	if err := errors.Join(p.Protected(), p.Unapproved()); err != nil {
		return err
	}
	if len(p.Pending()) == 0 {
		return nil
	}
	return c.get(ctx, fmt.Sprintf("%s release %s?", question(p), p.Release))
}

func question(p *apply.Plan) string {
	switch {
	case p.Operation == apply.Rollback:
		return "Roll back"
	case p.Release.Recorded():
		return "Change"
	default:
		return "Make"
	}
}
