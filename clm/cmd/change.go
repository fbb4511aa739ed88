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
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const outputJSON = "json"

// comparing describes what commands do while they make a plan.
const comparing = "rendering the manifests and comparing them with the cluster"

// changeOptions are the options of commands that change a release.
type changeOptions struct {
	operation.Options
	operationFlags
	planFlags

	// undeclared means that the command line does not declare the resulting release, so the user must confirm the plan.
	undeclared bool
	// hideNotes does not show the notes of charts when sources are applied.
	hideNotes bool
	// failed, if set, is called when carrying out a plan has failed. The command fails in any case.
	failed func(ctx context.Context, p *operation.Plan, failure error) error
}

// planFlags control how a plan is shown and what it may do.
type planFlags struct {
	diff         diffFlags
	conflicts    choice
	maxDeletions reconciler.MaxDeletions // empty allows to delete all but one
	approved     string                  // identifies held deletions
	strict       bool                    // refuses unknown fields of objects
}

// operationFlags are the options of changes and deletions.
type operationFlags struct {
	dryRun dryRun
	yes    bool
	output choice
}

func addOperationFlags(flags *pflag.FlagSet, limits *runner.Limits, o *operationFlags) {
	addLimitFlags(flags, limits)
	addDryRunFlag(flags, &o.dryRun)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	o.output.allowed = []string{outputJSON}
	flags.VarP(&o.output, "output", "o", "write events to standard output while the operation runs, one per line")
}

// events reports whether to write events for programs.
func (o *operationFlags) events() bool { return o.output.value == outputJSON }

// check refuses combinations of flags that would give programs output for people.
func (o *operationFlags) check() error {
	if o.dryRun.isSet() && o.events() {
		return errors.New("flags --output and --dry-run are mutually exclusive: a dry run does nothing that events could report")
	}
	return nil
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
	conflictsRefuse = string(operation.ConflictsRefuse)
)

// addConflictsFlag adds the flag --conflicts. Commands for sources also have the value keep. Commands without sources,
// except rollbacks, take all fields by default. All others leave alone the fields that a revision leaves alone.
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

func addDeletionFlags(flags *pflag.FlagSet, limit *reconciler.MaxDeletions, approved *string) {
	flags.Var(flagValue[reconciler.MaxDeletions]{"N|N%", limit, func(text string) (reconciler.MaxDeletions, error) {
		limit := reconciler.MaxDeletions(text)
		if err := limit.Validate(); err != nil || limit == "" || limit == reconciler.MaxDeletionsAllButOne {
			return "", fmt.Errorf("%q is neither a non-negative number nor a percentage from 0%% to 100%%", text)
		}
		return limit, nil
	}}, "max-deletions", "refuse to delete more objects than this: a number, or a percentage of the dependents (default all but one)")
	flags.StringVar(approved, "approve-deletions", "",
		"approve the deletion of the redundant objects with prune policy confirm that a refused plan listed; `DIGEST` is the one it printed")
}

// addCourseFlags adds the flags that all commands that change a release share. It adds none about deletions.
func addCourseFlags(flags *pflag.FlagSet, o *changeOptions) {
	addOperationFlags(flags, &o.Limits, &o.operationFlags)
	addDiffFlags(flags, &o.diff)
	flags.BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
	o.HistoryMax = defaultHistory
	flags.Var(number(&o.HistoryMax, 0), "history-max", "number of revisions to keep; 0 keeps all")
	o.HistoryMaxBytes = defaultHistoryBytes
	flags.Var((*byteCount)(&o.HistoryMaxBytes), "history-max-bytes",
		"number of bytes that values and manifests of all kept revisions may take in the cluster, compressed; the oldest revisions go first; 0 sets no limit")
}

const (
	// defaultHistory is the default number of revisions to keep.
	defaultHistory = 10
	// defaultHistoryBytes is their default maximum size in bytes.
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
	namespace, err := e.namespace()
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

// compares reports whether to send a dry run of each object to the server, even if no confirmation is needed.
func (o *changeOptions) compares() bool {
	return o.strict || o.diff.show || o.dryRun.asksServer() || o.conflicts.value == conflictsRefuse || o.conflicts.value == conflictsKeep
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

// carryOut carries out a confirmed plan.
func (o *changeOptions) carryOut(ctx context.Context, e *environment, s *runner.Connection, p *operation.Plan, c consent) error {
	options := o.Options
	// Do nothing but the confirmed plan, even if the cluster has changed since it was shown. In particular, take no
	// fields that others have changed since then.
	options.Exact = options.Exact || c.needed() || o.conflicts.value == conflictsRefuse || o.conflicts.value == conflictsKeep
	err := p.Apply(ctx, options)
	if !o.events() {
		e.explain(ctx, s, p.Release, err)
	}
	switch {
	case err != nil && o.failed != nil && releases.IsFailure(err):
		return o.failed(ctx, p, err)
	case err == nil && p.Operation == operation.Apply && !o.hideNotes && !o.events() && p.Content.Notes != "":
		return printNotes(e.out, p.Content.Notes)
	default:
		return shown(err)
	}
}

// show shows a plan that is not carried out.
func (o *changeOptions) show(e *environment, p *operation.Plan) error {
	if !o.compares() {
		noteUnverified(p)
	}
	noteUnready(e, p)
	err := errors.Join(showPlan(e, e.out, p, o.diff), o.limitDeletions(p), o.refusal(p))
	if o.dryRun.asksServer() {
		err = errors.Join(err, refusedByServer(p))
	}
	return err
}

// settle decides whether the plan may be carried out.
func (o *changeOptions) settle(ctx context.Context, e *environment, p *operation.Plan, c consent) error {
	if err := o.limitDeletions(p); err != nil {
		return err
	}
	if c.needed() || o.diff.show {
		if err := showPlan(e, c.out(), p, o.diff); err != nil {
			return err
		}
	}
	if err := o.refusal(p); err != nil {
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

// refusal returns a RefusedError if the plan cannot be carried out, if it takes fields from others and
// --conflicts=refuse is set, or if it has unknown fields and --strict is set.
func (o *planFlags) refusal(p *operation.Plan) error {
	err := p.Refused()
	if o.strict {
		err = errors.Join(err, p.UnknownFields())
	}
	if o.conflicts.value == conflictsRefuse {
		err = errors.Join(err, p.Conflicting())
	}
	return err
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

// askingHelp explains the confirmation; it ends a paragraph of a help text.
const askingHelp = `clm asks on the terminal, even if standard
input or output is redirected. Without a terminal, or if the environment variable CI is set, clm refuses to continue unless --yes is given.`

// consent asks the user to confirm what a command is about to do. The zero value needs no confirmation.
type consent struct {
	// dialog is the terminal for the question; nil if there is no question.
	dialog *display.Dialog
	// silence is the reason why the user cannot be asked for a required confirmation; nil if there is none.
	silence error
	// context is the kubeconfig context of the command; may be empty.
	context string
	errOut  io.Writer
}

// consent opens the terminal unless --yes was given. If it cannot ask, the command may continue only if its arguments
// declare the result, and no user sits at a terminal. The caller must close the consent.
func (e *environment) consent(given, declared bool) consent {
	c := consent{errOut: e.err, context: e.context()}
	if given {
		return c
	}
	var err error
	if c.dialog, err = e.openDialog(); err == nil {
		return c
	}
	silence, isSilence := errors.AsType[*display.SilenceError](err)
	if attended := isSilence && silence.Attended; attended || !declared {
		c.silence = err
	}
	return c
}

// openDialog opens the terminal. If there is none, the error is a display.SilenceError.
func (e *environment) openDialog() (*display.Dialog, error) {
	if e.dialog == nil {
		return nil, &display.SilenceError{Reason: "clm cannot ask, because there is no terminal"}
	}
	return e.dialog()
}

// needed reports whether a confirmation is required.
func (c consent) needed() bool { return c.dialog != nil || c.silence != nil }

// out returns the writer for the plan to confirm: standard error, or the terminal if standard error is redirected.
func (c consent) out() io.Writer {
	if c.dialog != nil && !display.IsTerminal(c.errOut) {
		return c.dialog
	}
	return c.errOut
}

// get asks for confirmation, and adds the context of the kubeconfig to the question. The error is a RefusedError unless
// the user agrees or --yes was given.
func (c consent) get(ctx context.Context, question string) error {
	if c.silence != nil {
		return releases.Refused("not confirmed: %v; nothing was changed; to continue without confirmation: --yes", c.silence)
	}
	if c.dialog == nil {
		return nil
	}
	if c.context != "" {
		// Before the end, or before a further clause: "Create release demo/web in context prod, although …?"
		at := strings.IndexAny(question, ",?")
		question = question[:at] + " in context " + display.Clean(c.context) + question[at:]
	}
	answer, err := c.dialog.Ask(ctx, question+" [y/N]")
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return releases.Refused("not confirmed; nothing was changed")
	}
}

// agree asks for confirmation of the output of a command. It first writes the output again if the user has not seen it.
func (e *environment) agree(ctx context.Context, yes bool, form output, write func(out io.Writer) error, question string) error {
	c := e.consent(yes, false)
	defer c.Close()
	isSeen := form.forPeople() && (c.dialog == nil || display.IsTerminal(e.out))
	if c.needed() && !isSeen {
		if err := write(c.out()); err != nil {
			return err
		}
	}
	return c.get(ctx, question)
}

func (c consent) Close() {
	if c.dialog != nil {
		_ = c.dialog.Close()
	}
}

// dryRun is the value of the flag --dry-run, which means the same for all commands: show what the command would do, and
// do nothing. The values are those of kubectl and Helm.
type dryRun struct{ choice }

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
	dryRunFlag   = "dry-run"
)

// addDryRunFlag adds the flag. Without a value, it asks the server, as clm plan does.
func addDryRunFlag(flags *pflag.FlagSet, d *dryRun) {
	d.allowed = []string{dryRunNone, dryRunClient, dryRunServer}
	flags.VarPF(d, dryRunFlag, "", "show what would be done, and do nothing; --dry-run=client does so without asking the API server about each object").NoOptDefVal = dryRunServer
}

// Type makes help texts show the flag without a value, like any flag that needs none.
func (d *dryRun) Type() string { return "bool" }

// isSet reports whether this is a dry run.
func (d *dryRun) isSet() bool { return d.value != "" && d.value != dryRunNone }

// asksServer reports whether this is a dry run that asks the API server about each object.
func (d *dryRun) asksServer() bool { return d.value == dryRunServer }

// checkDryRun refuses a value of --dry-run without an equals sign: it would be an argument.
func checkDryRun(command *cobra.Command, args []string) error {
	flag := command.Flags().Lookup(dryRunFlag)
	if flag == nil || !flag.Changed {
		return nil
	}
	for i, arg := range args {
		// The first one may be the name of a release.
		if _, err := os.Stat(arg); err != nil && i > 0 && slices.Contains([]string{dryRunClient, dryRunServer}, arg) {
			return errors.New("the value of --dry-run needs an equals sign: --dry-run=" + arg)
		}
	}
	return nil
}

const defaultTimeout = 5 * time.Minute

func addLimitFlags(flags *pflag.FlagSet, limits *runner.Limits) {
	limits.Timeout = defaultTimeout
	flags.Var(period(&limits.Timeout), "timeout", "how long to wait for objects to become ready or to be deleted; 0 means no limit")
	flags.Var(period(&limits.LockTimeout), "lock-timeout", "how long to wait for the lock of the release while another process holds it; 0 means no limit")
}

func addCancelFlag(flags *pflag.FlagSet, limits *runner.Limits) {
	flags.BoolVar(&limits.CancelOlder, "cancel-older", false,
		"cancel an apply or rollback of the release that an earlier process has in progress, instead of waiting until it ends, then make the plan again, which may be "+
			"refused; wait for other operations")
}

// policyFlags are the policies of objects without policy annotations.
type policyFlags struct {
	adopt, update, prune choice
}

// pruneReport is the value of --prune for the prune policy keep: clm reports the kept objects, as Argo CD does by
// default.
const pruneReport = "report"

var adoptionPolicies = []string{types.AdoptionPolicyNever, types.AdoptionPolicyIfUnowned, types.AdoptionPolicyAlways}

func addPolicyFlags(flags *pflag.FlagSet, p *policyFlags) {
	p.adopt = choice{value: types.AdoptionPolicyIfUnowned, allowed: adoptionPolicies}
	p.update = choice{value: types.UpdatePolicySsaOverride, allowed: []string{
		types.UpdatePolicySsaOverride, types.UpdatePolicySsaMerge, types.UpdatePolicyReplace, types.UpdatePolicyRecreate,
	}}
	flags.Var(&p.adopt, "adopt", "when to adopt existing objects")
	flags.Var(&p.update, "update-policy", "how to update objects")
}

func (p policyFlags) policies() reconciler.Policies {
	policies := reconciler.Policies{Adoption: reconciler.AdoptionPolicy(p.adopt.value), Update: reconciler.UpdatePolicy(p.update.value)}
	switch p.prune.value {
	case pruneReport:
		policies.Prune = reconciler.PrunePolicyKeep
	case types.PrunePolicyConfirm:
		policies.Prune = reconciler.PrunePolicyConfirm
	}
	// The default stays empty: other policies would result in another revision.
	return policies
}

// choice is the value of a flag with a fixed set of allowed values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("%q is not one of %s", value, strings.Join(c.allowed, ", "))
	}
	c.value = value
	return nil
}

// choices are the values of a repeatable flag with a fixed set of allowed values, which are case-insensitive.
type choices struct {
	values  []string
	allowed []string
}

func (c *choices) String() string { return strings.Join(c.values, ",") }

func (c *choices) Type() string { return "strings" }

func (c *choices) Set(text string) error {
	if text == "" {
		return nil // all
	}
	for value := range strings.SplitSeq(text, ",") {
		at := slices.IndexFunc(c.allowed, func(allowed string) bool { return strings.EqualFold(allowed, value) })
		if at < 0 {
			return fmt.Errorf("%q is not one of %s", value, strings.Join(c.allowed, ", "))
		}
		c.values = append(c.values, c.allowed[at])
	}
	return nil
}

// wants reports whether a value was chosen. Without any chosen values, it returns true.
func (c *choices) wants(value string) bool {
	return len(c.values) == 0 || slices.ContainsFunc(c.values, func(chosen string) bool { return strings.EqualFold(chosen, value) })
}

// noWait is the value of the flag --no-wait.
func noWait(wait *operation.Wait) pflag.Value {
	return flagValue[operation.Wait]{"bool", wait, func(text string) (operation.Wait, error) {
		switch value := operation.Wait(text); {
		case value == operation.WaitWritten || value == operation.WaitWave || value == operation.WaitNothing:
			return value, nil
		case text == "false":
			return operation.WaitReady, nil
		default:
			return "", fmt.Errorf("%q is not one of true, false, wave, all", text)
		}
	}}
}

// limitDeletions refuses a plan that exceeds the maximum number of deletions. The engine would hold the deletions back,
// but apply the rest.
func (o *planFlags) limitDeletions(p *operation.Plan) error {
	deletions, dependents := 0, 0
	deleted := map[types.ObjectID]bool{}
	for _, change := range p.Changes {
		if change.Verb == reconciler.VerbDeleted {
			deletions++
			deleted[types.IDOf(change.Object)] = true
		}
	}
	for _, item := range p.Release.Inventory {
		// Kept objects count only if the plan deletes them.
		if item.Phase != reconciler.PhaseCompleted && (item.Phase != reconciler.PhaseKept || deleted[types.IDOf(item)]) {
			dependents++
		}
	}
	allowed, err := cmp.Or(o.maxDeletions, reconciler.MaxDeletionsAllButOne).Of(dependents)
	switch {
	case err != nil:
		return err
	case deletions <= allowed:
		return nil
	case o.maxDeletions == "":
		return releases.Refused("all dependents of release %s (%d) would be deleted; if that is what you want: --max-deletions 100%%", p.Release, dependents)
	default:
		return releases.Refused("%d of %d dependents of release %s would be deleted, but --max-deletions %s allows only %d",
			deletions, dependents, p.Release, o.maxDeletions, allowed)
	}
}
