// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

const outputJSON = "json"

// comparing is what commands do while they make a plan.
const comparing = "rendering the manifests and comparing them with the cluster"

// changeOptions are the options of commands that change a release.
type changeOptions struct {
	operation.Options

	dryRun dryRun
	diff   diffFlags
	yes    bool
	// undeclared means that the command line does not declare the resulting release, so the user must confirm the plan.
	undeclared   bool
	conflicts    choice
	maxDeletions maxDeletions
	approved     string // identifies held deletions
	output       choice
	// showNotes shows the notes of charts when everything else is done.
	showNotes bool
	// failed, if set, is called when carrying out a plan has failed. The command fails in any case.
	failed func(ctx context.Context, p *operation.Plan, failure error) error
}

func addChangeFlags(flags *pflag.FlagSet, o *changeOptions) {
	addCourseFlags(flags, o)
	flags.VarPF(noWait(&o.Wait), "no-wait", "", "do not wait until the last wave is ready (clm wait can do that later); --no-wait=wave stops "+
		"at the first wave that is not ready, --no-wait=all applies all waves at once; redundant objects are kept until the next apply if not all others are ready").NoOptDefVal = "true"
	addDeletionFlags(flags, &o.maxDeletions, &o.approved)
}

// Values of the flag --conflicts.
const (
	conflictsForce  = string(operation.ConflictsForce)
	conflictsKeep   = string(operation.ConflictsKeep)
	conflictsRefuse = "refuse"
)

// addConflictsFlag adds the flag --conflicts. Commands for sources also have the value keep. Only commands without
// sources that make no rollback take all fields by default: others leave alone what a revision leaves alone.
func addConflictsFlag(flags *pflag.FlagSet, conflicts *choice, keep, byDefault string) {
	*conflicts = choice{allowed: []string{conflictsForce, conflictsRefuse}}
	if keep != "" {
		conflicts.allowed = []string{conflictsForce, conflictsKeep, conflictsRefuse}
	}
	if byDefault == "" {
		conflicts.value = conflictsForce
	}
	flags.Var(conflicts, "conflicts", "what to do if a declared field has another value and belongs to another field manager: force takes the field; "+
		keep+"refuse ends the command before anything is applied"+byDefault)
}

// addSourceConflictsFlag adds the flag --conflicts for commands that apply sources.
func addSourceConflictsFlag(flags *pflag.FlagSet, conflicts *choice) {
	addConflictsFlag(flags, conflicts, "keep leaves it alone, now and later, unless the manifest has changed it; ",
		" (without the flag, the field is taken unless an earlier keep has left it alone)")
}

// conflictsOf returns what a plan for sources does about conflicts.
func conflictsOf(conflicts choice) operation.Conflicts {
	if conflicts.value == conflictsRefuse {
		return operation.ConflictsDefault
	}
	return operation.Conflicts(conflicts.value)
}

func addDeletionFlags(flags *pflag.FlagSet, limit *maxDeletions, approved *string) {
	flags.Var(limit, "max-deletions", "refuse to delete more objects than this: a number, or a percentage of the dependents (default all but one)")
	flags.StringVar(approved, "approve-deletions", "",
		"approve the deletion of the redundant objects with prune policy confirm that a refused plan listed; `DIGEST` is the one it printed")
}

// addCourseFlags adds the flags of changes that delete nothing and that clm waits for.
func addCourseFlags(flags *pflag.FlagSet, o *changeOptions) {
	o.output = choice{allowed: []string{outputJSON}}
	addLimitFlags(flags, &o.Limits)
	addDiffFlags(flags, &o.diff)
	flags.BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
	addDryRunFlag(flags, &o.dryRun)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	o.HistoryMax = defaultHistory
	flags.Var(number(&o.HistoryMax, 0), "history-max", "number of revisions to keep; 0 keeps all")
	o.HistoryMaxBytes = defaultHistoryBytes
	flags.Var(byteCount(&o.HistoryMaxBytes), "history-max-bytes",
		"number of bytes that values and manifests of all kept revisions may take in the cluster, compressed; the oldest revisions go first; 0 sets no limit")
	flags.VarP(&o.output, "output", "o", "write events to standard output while the operation runs, one per line")
}

const (
	// defaultHistory is the number of revisions to keep.
	defaultHistory = 10
	// defaultHistoryBytes is how many bytes they may take.
	defaultHistoryBytes = 10 << 20
)

// planner makes a plan for a release in the namespace. If compare is set, it sends a dry run of each object to the
// server.
type planner func(s *runner.Connection, namespace string, compare bool) (*operation.Plan, error)

// run makes a plan, asks for confirmation, and carries the plan out. If another client changes the release meanwhile,
// it starts again.
func (o *changeOptions) run(ctx context.Context, e *environment, plan planner) error {
	if err := o.check(); err != nil {
		return err
	}
	namespace, err := e.kube.namespace()
	if err != nil {
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
	return e.again(s, limit, func() error {
		return o.attempt(ctx, e, s, func(compare bool) (*operation.Plan, error) { return plan(s, namespace, compare) })
	})
}

// events reports whether to write events for programs.
func (o *changeOptions) events() bool { return o.output.value == outputJSON }

// compares reports whether to send a dry run of each object to the server, even if no confirmation is needed.
func (o *changeOptions) compares() bool {
	return o.diff.show || o.dryRun.asksServer() || o.conflicts.value == conflictsRefuse || o.conflicts.value == conflictsKeep
}

// errDryRunEvents prevents programs from parsing output for people.
var errDryRunEvents = errors.New("flags --output and --dry-run are mutually exclusive: a dry run does nothing that events could report")

func (o *changeOptions) check() error {
	if o.dryRun.isSet() && o.events() {
		return errDryRunEvents
	}
	return nil
}

func (o *changeOptions) attempt(ctx context.Context, e *environment, s *runner.Connection, plan func(compare bool) (*operation.Plan, error)) error {
	c := e.consent(o.yes || o.dryRun.isSet(), !o.undeclared)
	defer c.Close()
	p, err := plan(c.needed() || o.compares())
	if err != nil {
		return err
	}
	defer p.Close()
	if o.dryRun.isSet() {
		return o.show(e, p)
	}
	if p.Idle() {
		// Objects that another client may have changed are applied nevertheless.
		if err := p.Await(ctx, o.Options); !releases.IsChanged(err) {
			return shown(err)
		}
	}
	if err := operation.CheckOvertaken(p, o.Options); err != nil {
		return shown(err)
	}
	if err := o.settle(ctx, e, p, c); err != nil {
		return err
	}
	return o.carryOut(ctx, e, s, p, c)
}

// carryOut carries out a plan to which the user has agreed.
func (o *changeOptions) carryOut(ctx context.Context, e *environment, s *runner.Connection, p *operation.Plan, c consent) error {
	options := o.Options
	// Only the confirmed plan is carried out, even if the cluster has changed since it was shown. Nor are fields taken
	// that others have changed since then.
	options.Exact = options.Exact || c.needed() || o.conflicts.value == conflictsRefuse || o.conflicts.value == conflictsKeep
	err := p.Apply(ctx, options)
	if !o.events() {
		e.explain(ctx, s, p.Release, err)
	}
	if err != nil && o.failed != nil && releases.IsFailure(err) {
		return o.failed(ctx, p, err)
	}
	return o.conclude(e, p, err)
}

// conclude shows the notes of charts after a success, if they are wanted.
func (o *changeOptions) conclude(e *environment, p *operation.Plan, err error) error {
	if err != nil || !o.showNotes || o.events() || p.Content.Notes == "" {
		return shown(err)
	}
	return printNotes(e.out, p.Content.Notes)
}

// show shows a plan that is not carried out.
func (o *changeOptions) show(e *environment, p *operation.Plan) error {
	if !o.compares() {
		noteUnverified(p)
	}
	err := errors.Join(showPlan(e, e.out, p, o.diff), o.maxDeletions.check(p), p.Refused(), conflicting(p, o.conflicts))
	if o.dryRun.asksServer() {
		err = errors.Join(err, refusedByServer(p))
	}
	return err
}

// settle decides whether the plan may be carried out.
func (o *changeOptions) settle(ctx context.Context, e *environment, p *operation.Plan, c consent) error {
	if err := o.maxDeletions.check(p); err != nil {
		return err
	}
	if c.needed() || o.diff.show {
		if err := showPlan(e, c.out(), p, o.diff); err != nil {
			return err
		}
	}
	if err := errors.Join(p.Refused(), conflicting(p, o.conflicts)); err != nil {
		return err
	}
	if len(p.Pending()) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s release %s", question(p), p.Release)
	if count := p.Rejected(); count > 0 {
		text += fmt.Sprintf(", although the API server rejects %d of its objects", count)
	}
	return c.get(ctx, text+"?")
}

// conflicting returns a RefusedError if the plan takes fields from others, and that is to be refused.
func conflicting(p *operation.Plan, conflicts choice) error {
	if conflicts.value != conflictsRefuse {
		return nil
	}
	return p.Conflicting()
}

// refusedByServer returns a RefusedError if the API server would refuse objects of the plan.
func refusedByServer(p *operation.Plan) error {
	if count := p.Rejected(); count > 0 {
		return releases.Refused("the API server rejects %d of the objects, as shown above", count)
	}
	return nil
}

func question(p *operation.Plan) string {
	switch {
	case p.Operation == operation.Rollback:
		return "Roll back"
	case p.Release.Recorded():
		return "Change"
	default:
		return "Create"
	}
}
