// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// diffFlags say how changes are shown.
type diffFlags struct {
	// show adds what changes in objects, only leaves out everything else.
	show, only bool
	context    int
	secrets    bool
}

const defaultContext = 3

func addDiffFlags(flags *pflag.FlagSet, d *diffFlags) {
	// The name that diff has for it: --context is the context of the kubeconfig.
	d.context = defaultContext
	flags.VarP(number(&d.context, -1), "unified", "U", "`number` of unchanged lines around each change in a diff; -1 shows whole objects")
	flags.BoolVar(&d.secrets, "show-secrets", false, "show the values of Secrets in a diff")
}

// showPlan writes what a plan is going to change.
func showPlan(e *environment, out io.Writer, p *operation.Plan, flags diffFlags) error {
	if !flags.only {
		writeWrapped(out, "", fmt.Sprintf("release %s, %s, from %s", p.Release, revisionText(p), sourceTexts(p.Revision.Sources)))
	}
	names := namesOfChanges(out, p)
	return display.WriteDiff(out, shownChanges(p, flags.show, names), flags.options(e, out))
}

// shownChanges returns all changes of a plan as they are shown.
func shownChanges(p *operation.Plan, whole bool, names *display.Names) []display.Change {
	var changes []display.Change
	for _, change := range p.Shown() {
		changes = append(changes, shownChange(change, whole, names))
	}
	return changes
}

// options returns how differences are shown on a writer.
func (d diffFlags) options(e *environment, out io.Writer) display.DiffOptions {
	return display.DiffOptions{Style: e.style(out), Context: &d.context, ShowSecrets: d.secrets, Limit: display.Limit(out)}
}

// namesOfChanges returns the names of the objects of a plan.
func namesOfChanges(out io.Writer, p *operation.Plan) *display.Names {
	const details = 40 // cells, enough for a short reason
	limit := display.Limit(out)
	names := display.NewNames(max(limit/2, limit-details), p.Release.Namespace)
	for _, change := range notable(p) {
		names.Include(change.Object)
	}
	return names
}

// shownChange returns a change as it is shown, with or without what changes in the object.
func shownChange(change reconciler.Change, whole bool, names *display.Names) display.Change {
	shown := display.Change{
		Object: names.Of(change.Object), Action: listedAction(change), Reason: change.Reason, Refusal: change.Refusal, Local: change.Local, Notes: change.Notes,
	}
	if shown.Action == display.ActionCreate && shown.Reason == reconciler.ReasonMissing {
		// The action says that already.
		shown.Reason = ""
	}
	if whole {
		shown.Before, shown.After = content(change.Before), content(change.After)
	}
	return shown
}

// noteUnverified is for plans that are shown without the server having been asked about objects.
func noteUnverified(p *operation.Plan) {
	for i := range p.Changes {
		if change := &p.Changes[i]; change.Verb == reconciler.VerbCreated {
			change.Reason = "unless it already exists"
		}
	}
}

func revisionText(p *operation.Plan) string {
	text := fmt.Sprintf("revision %d", p.Revision.Number)
	if p.New {
		text = "new " + text
	}
	return text
}

// content returns what people want to see of an object: without the marks by which clm knows that it is part of the
// release.
func content(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	object.SetLabels(unmarked(object.GetLabels()))
	object.SetAnnotations(unmarked(object.GetAnnotations()))
	return object.Object
}

// unmarked returns labels or annotations without the mark of clm; nil if there are no others.
func unmarked(entries map[string]string) map[string]string {
	delete(entries, releases.ReconcilerName+"/"+types.LabelKeySuffixOwnerId)
	if len(entries) == 0 {
		return nil
	}
	return entries
}

// listedAction is what people are told of a change in a list, in which hooks that stay the same are one line, unless
// there is more to say about one.
func listedAction(change reconciler.Change) display.Action {
	if change.Repeats && change.Refusal == "" && len(change.Notes) == 0 {
		return display.ActionRepeat
	}
	return diffAction(change)
}

// diffAction is what would be done to an object; empty if nothing would be.
func diffAction(change reconciler.Change) display.Action {
	switch {
	case change.Recreate:
		return display.ActionRecreate
	case change.Stays:
		return display.ActionKeep
	case operation.IsOver(change) || change.Verb == reconciler.VerbUpdated && change.Reason == reconciler.ReasonUnchanged:
		return ""
	default:
		return actions[change.Verb]
	}
}

// actions are what people are told of verbs.
var actions = map[reconciler.Verb]display.Action{
	reconciler.VerbCreated: display.ActionCreate, reconciler.VerbAdopted: display.ActionAdopt, reconciler.VerbUpdated: display.ActionUpdate,
	reconciler.VerbCorrected: display.ActionCorrect, reconciler.VerbRestored: display.ActionRestore, reconciler.VerbDeleted: display.ActionDelete,
	reconciler.VerbCompleted: display.ActionComplete, reconciler.VerbOrphaned: display.ActionOrphan,
}
