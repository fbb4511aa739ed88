// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

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

func addNamespaceFlag(flags *pflag.FlagSet, create *bool) {
	flags.BoolVar(create, "create-namespace", false, "create the namespace of the release if it does not exist")
}

// policyFlags are the policies of objects whose annotations say nothing.
type policyFlags struct {
	adopt, update, prune choice
}

// pruneReport is the value of --prune for the prune policy keep: what stays is named, as Argo CD does by default.
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

func addPruneFlag(flags *pflag.FlagSet, p *policyFlags) {
	p.prune = choice{value: types.PrunePolicyDelete, allowed: []string{types.PrunePolicyDelete, types.PrunePolicyConfirm, pruneReport}}
	flags.Var(&p.prune, "prune", "what to do with objects that are no longer in the manifests: delete them, delete them after --approve-deletions, or keep and report them")
}

func (p policyFlags) policies() reconciler.Policies {
	policies := reconciler.Policies{Adoption: reconciler.AdoptionPolicy(p.adopt.value), Update: reconciler.UpdatePolicy(p.update.value)}
	switch p.prune.value {
	case pruneReport:
		policies.Prune = reconciler.PrunePolicyKeep
	case types.PrunePolicyConfirm:
		policies.Prune = reconciler.PrunePolicyConfirm
	}
	// The default stays empty: a revision with other policies is another one.
	return policies
}

// choice is the value of a flag that allows few texts.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(value string) error {
	for _, allowed := range c.allowed {
		if value == allowed {
			c.value = value
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", value, strings.Join(c.allowed, ", "))
}

// noWait is the value of the flag --no-wait.
func noWait(wait *operation.Wait) pflag.Value {
	return flagValue{kind: "bool", text: func() string { return string(*wait) }, set: func(text string) error {
		switch value := operation.Wait(text); {
		case value == operation.WaitWritten || value == operation.WaitWave || value == operation.WaitNothing:
			*wait = value
		case text == "false":
			*wait = operation.WaitReady
		default:
			return fmt.Errorf("%q is not one of true, false, wave, all", text)
		}
		return nil
	}}
}

// maxDeletions bounds how many objects an operation may delete. The zero value allows to delete all but one.
type maxDeletions struct{ limit reconciler.MaxDeletions }

func (m *maxDeletions) String() string { return string(m.limit) }

func (m *maxDeletions) Type() string { return "N|N%" }

func (m *maxDeletions) Set(value string) error {
	limit := reconciler.MaxDeletions(value)
	if err := limit.Validate(); err != nil || limit == "" || limit == reconciler.MaxDeletionsAllButOne {
		return fmt.Errorf("%q is neither a non-negative number nor a percentage from 0%% to 100%%", value)
	}
	m.limit = limit
	return nil
}

// check refuses a plan that deletes more than is allowed. Nothing is applied then: the engine would apply the rest, and
// hold the deletions back.
func (m *maxDeletions) check(p *operation.Plan) error {
	deletions, dependents := 0, 0
	deleted := map[types.ObjectID]bool{}
	for _, change := range p.Changes {
		if change.Verb == reconciler.VerbDeleted {
			deletions++
			deleted[types.IDOf(change.Object)] = true
		}
	}
	for _, item := range p.Release.Inventory {
		// Kept objects do not count for what is left.
		if item.Phase != reconciler.PhaseCompleted && (item.Phase != reconciler.PhaseKept || deleted[types.IDOf(item)]) {
			dependents++
		}
	}
	allowed, err := cmp.Or(m.limit, reconciler.MaxDeletionsAllButOne).Of(dependents)
	switch {
	case err != nil:
		return err
	case deletions <= allowed:
		return nil
	case m.limit == "":
		return &releases.RefusedError{Reason: fmt.Sprintf(
			"all dependents of release %s (%d) would be deleted; if that is what you want: --max-deletions 100%%", p.Release, dependents)}
	default:
		return &releases.RefusedError{Reason: fmt.Sprintf(
			"%d of %d dependents of release %s would be deleted, but --max-deletions %s allows only %d", deletions, dependents, p.Release, m, allowed)}
	}
}
