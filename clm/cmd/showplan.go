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
		writeWrapped(out, "", headline(p))
	}
	names := namesOfChanges(out, p)
	var changes []display.Change
	for _, change := range p.Shown() {
		changes = append(changes, shownChange(change, flags.show, names))
	}
	return display.WriteDiff(out, changes, flags.options(e, out))
}

// options returns how differences are shown on a writer.
func (d diffFlags) options(e *environment, out io.Writer) display.DiffOptions {
	return display.DiffOptions{Style: e.color.Style(out), Context: &d.context, ShowSecrets: d.secrets, Limit: display.Limit(out)}
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

func headline(p *operation.Plan) string {
	return fmt.Sprintf("release %s, %s, from %s", p.Release, revisionText(p), sourceTexts(p.Revision.Sources))
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
	for _, field := range []string{"labels", "annotations"} {
		marks, _, err := unstructured.NestedStringMap(object.Object, "metadata", field)
		if err != nil || marks == nil {
			continue
		}
		delete(marks, releases.ReconcilerName+"/"+types.LabelKeySuffixOwnerId)
		unstructured.RemoveNestedField(object.Object, "metadata", field)
		if len(marks) > 0 {
			// It cannot fail, since it was there before.
			_ = unstructured.SetNestedStringMap(object.Object, marks, "metadata", field)
		}
	}
	return object.Object
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
	case operation.IsOver(change):
		return ""
	}
	switch change.Verb {
	case reconciler.VerbCreated:
		return display.ActionCreate
	case reconciler.VerbAdopted:
		return display.ActionAdopt
	case reconciler.VerbUpdated:
		if change.Reason == reconciler.ReasonUnchanged {
			return ""
		}
		return display.ActionUpdate
	case reconciler.VerbCorrected:
		return display.ActionCorrect
	case reconciler.VerbRestored:
		return display.ActionRestore
	case reconciler.VerbDeleted:
		return display.ActionDelete
	case reconciler.VerbCompleted:
		return display.ActionComplete
	case reconciler.VerbOrphaned:
		return display.ActionOrphan
	default:
		return ""
	}
}
