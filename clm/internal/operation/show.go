// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Write shows the changes of the plan, after a line about the revision if headed is set.
func (p *Plan) Write(out io.Writer, headed bool, options display.DiffOptions) error {
	if headed {
		display.WriteWrapped(out, "", fmt.Sprintf("release %s, %s, from %s", p.Release, p.RevisionText(), releases.PinnedTexts(p.Revision.Sources)), options.Limit)
	}
	return display.WriteDiff(out, p.DisplayChanges(true, p.NamesFor(out)), options)
}

// DisplayChanges returns all changes of a plan for display.
func (p *Plan) DisplayChanges(whole bool, names *display.Names) []display.Change {
	var changes []display.Change
	for _, change := range p.Shown() {
		changes = append(changes, DisplayChange(change, whole, names))
	}
	return changes
}

// NamesFor returns the names of the objects of the plan for output to a writer.
func (p *Plan) NamesFor(out io.Writer) *display.Names {
	const details = 40 // cells, enough for a short reason
	limit := display.Limit(out)
	names := display.NewNames(max(limit/2, limit-details), p.Release.Namespace)
	for _, change := range p.Notable() {
		names.Include(change.Object)
	}
	return names
}

// DisplayChange returns a change for display; whole adds the object before and after it.
func DisplayChange(change reconciler.Change, whole bool, names *display.Names) display.Change {
	shown := display.Change{
		Object: names.Of(change.Object), Action: listedAction(change), Reason: change.Reason, Refusal: change.Refusal, Local: change.Local, Notes: change.Notes,
	}
	if shown.Action == display.ActionCreate && shown.Reason == reconciler.ReasonMissing {
		// The action implies it.
		shown.Reason = ""
	}
	if whole {
		shown.Before, shown.After = Compared(change.Before), Compared(change.After)
	}
	return shown
}

// RevisionText names the revision of the plan.
func (p *Plan) RevisionText() string {
	text := fmt.Sprintf("revision %d", p.Revision.Number)
	if p.New {
		text = "new " + text
	}
	return text
}

// Compared returns the content of an object for a diff, without the marks of its release; nil for nil.
func Compared(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	for _, kind := range []string{"labels", "annotations"} {
		unstructured.RemoveNestedField(object.Object, "metadata", kind, releases.ReconcilerName+"/"+types.LabelKeySuffixOwnerId)
		if left, _, _ := unstructured.NestedMap(object.Object, "metadata", kind); len(left) == 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", kind)
		}
	}
	return object.Object
}

// listedAction returns the action of a change in a list for people. Unchanged hooks share one line, except those with a
// refusal or notes.
func listedAction(change reconciler.Change) display.Action {
	if change.Repeats && change.Refusal == "" && len(change.Notes) == 0 {
		return display.ActionRepeat
	}
	return ActionOf(change)
}

// ActionOf returns the action of a change; empty if the change does nothing.
func ActionOf(change reconciler.Change) display.Action {
	switch {
	case change.Recreate:
		return display.ActionRecreate
	case change.Stays:
		return display.ActionKeep
	case IsOver(change) || change.Verb == reconciler.VerbUpdated && change.Reason == reconciler.ReasonUnchanged:
		return ""
	default:
		return actions[change.Verb]
	}
}

// actions maps verbs to displayed actions.
var actions = map[reconciler.Verb]display.Action{
	reconciler.VerbCreated: display.ActionCreate, reconciler.VerbAdopted: display.ActionAdopt, reconciler.VerbUpdated: display.ActionUpdate,
	reconciler.VerbCorrected: display.ActionCorrect, reconciler.VerbRestored: display.ActionRestore, reconciler.VerbDeleted: display.ActionDelete,
	reconciler.VerbCompleted: display.ActionComplete, reconciler.VerbOrphaned: display.ActionOrphan,
}

// Notable returns the changes that are shown.
func (p *Plan) Notable() []reconciler.Change {
	return slices.DeleteFunc(p.Shown(), func(change reconciler.Change) bool { return ActionOf(change) == "" && change.Refusal == "" })
}

// Summary counts the changes.
func (p *Plan) Summary() string {
	return display.Summary(p.DisplayChanges(false, &display.Names{}))
}

// WriteDrift shows the changes of other clients or, if they will be corrected and any can be, the corrections.
func (p *Plan) WriteDrift(out io.Writer, drift []Drift, correct bool, options display.DiffOptions) error {
	heading := "release %s, revision %d (-) and the cluster (+)"
	correct = correct && slices.ContainsFunc(drift, func(d Drift) bool { return d.State == DriftHealable })
	if correct {
		heading = "release %s, the cluster (-) and revision %d (+)"
	}
	display.WriteWrapped(out, "", fmt.Sprintf(heading, p.Release, p.Revision.Number), options.Limit)
	now, names := time.Now(), p.NamesFor(out)
	changes := make([]display.Change, len(drift))
	for i, d := range drift {
		changes[i] = display.Change{
			Object: names.Of(d.Object), Action: ActionOf(d.Change), Reason: d.Reason, Refusal: d.Refusal, Local: d.Local, Notes: changeTexts(d.Changed, now),
			Before: Compared(d.Before), After: Compared(d.After),
		}
		if !correct {
			changes[i].Before, changes[i].After = changes[i].After, changes[i].Before
		}
		if d.State == DriftLeftAlone {
			changes[i].Action = display.ActionKeep
		}
		if d.State == DriftPending || correct && d.State == DriftLeftAlone {
			// There is no drift, or it stays.
			changes[i].Before, changes[i].After = nil, nil
		}
		if len(d.Changed) > 0 && d.State == DriftHealable {
			// The lines have more details.
			changes[i].Reason = ""
		}
	}
	return display.WriteDiff(out, changes, options)
}

// changeTexts returns one line per field manager and time: the fields that it changed, and when.
func changeTexts(changed []reconciler.FieldChange, now time.Time) []string {
	paths := map[string][]string{}
	for _, field := range changed {
		text := "removed by an unknown client"
		if field.Manager != "" {
			text = "changed by " + field.Manager
			if field.Time != nil {
				text += " " + display.KnownAge(field.Time.Time, now) + " ago"
			}
		}
		paths[text] = append(paths[text], field.Path)
	}
	var lines []string
	for _, text := range slices.Sorted(maps.Keys(paths)) {
		lines = append(lines, text+": "+strings.Join(paths[text], ", "))
	}
	return lines
}

// Write lists the objects to delete, the objects to keep, and the hooks.
func (d *Deletion) Write(out io.Writer) {
	before, afterwards := deletionhooks.At(deletionhooks.PreDelete, d.Hooks), deletionhooks.At(deletionhooks.PostDelete, d.Hooks)
	names := display.NamesFor(out, d.Release.Namespace, slices.Concat(d.Goes, d.Stays))
	for _, hook := range slices.Concat(before, afterwards) {
		names.Include(hook)
	}
	show(out, "These hooks will run first, and be deleted afterwards:", names, before)
	show(out, display.Count(len(d.Goes), "object")+" will be deleted:", names, d.Goes)
	if d.Held != nil {
		show(out, "Of these, the following may be deleted only with approval (--approve-deletions):", names, d.Held.Objects)
	}
	noteDefinitions(out, d)
	if len(d.Kept) > 0 {
		fmt.Fprintln(out, "Of these, the following namespaces will be kept until nothing else is left in them:")
	}
	for _, notice := range d.Kept {
		display.WriteWrapped(out, "  ", display.Clean(names.Of(notice.Object)+": "+notice.Message), display.Limit(out))
	}
	show(out, display.Count(len(d.Stays), "object")+" will be orphaned (kept in the cluster without an owner):", names, d.Stays)
	show(out, "These hooks will run last, and be deleted afterwards:", names, afterwards)
}

// show writes a heading and objects, if there are any.
func show[O types.ObjectKey](out io.Writer, heading string, names *display.Names, objects []O) {
	if len(objects) > 0 {
		fmt.Fprintln(out, heading)
		display.WriteNames(out, names, objects)
	}
}

// noteDefinitions notes that, unlike Helm, clm also deletes the types in the crds folder of a chart. The record does
// not distinguish these from other types.
func noteDefinitions(out io.Writer, d *Deletion) {
	definition := slices.IndexFunc(d.Goes, func(item *reconciler.InventoryItem) bool {
		return item.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	})
	current := d.Release.Current()
	isOfChart := func(source releases.Source) bool { return source.Kind == sources.Chart }
	if definition < 0 || current == nil || !slices.ContainsFunc(current.Sources, isOfChart) {
		return
	}
	display.WriteWrapped(out, "", fmt.Sprintf("Unlike helm uninstall, this also deletes the CustomResourceDefinitions in the folder crds of a chart, with all their objects. "+
		"To keep one: clm orphan %s %s -n %s", d.Release.Name, display.ObjectOf(d.Goes[definition]).Argument(), d.Release.Namespace), display.Limit(out))
}
