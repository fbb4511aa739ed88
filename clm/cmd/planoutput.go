// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Forms of a plan.
const (
	outputYAML     = "yaml"
	outputMarkdown = "markdown"
)

// show writes a plan in the wanted form.
func (o planOptions) show(e *environment, p *operation.Plan) error {
	switch o.output.value {
	case outputJSON, outputYAML:
		return o.showToPrograms(e, p)
	case outputMarkdown:
		return o.showInMarkdown(e.out, p)
	default:
		return showPlan(e, e.out, p, o.diff)
	}
}

// plannedChange is what would become of an object, for programs.
type plannedChange struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Wave       int      `json:"wave"`
	Action     string   `json:"action,omitempty"`
	Repeats    bool     `json:"repeats,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Refusal    string   `json:"refusal,omitempty"`
	Local      bool     `json:"local,omitempty"`
	Notes      []string `json:"notes,omitempty"`
	Diff       string   `json:"diff,omitempty"`
}

func (o planOptions) showToPrograms(e *environment, p *operation.Plan) error {
	changes := []plannedChange{}
	hunks, err := o.writer()
	if err != nil {
		return err
	}
	for _, change := range notable(p) {
		planned := plannedChange{
			APIVersion: change.Object.GetObjectKind().GroupVersionKind().GroupVersion().String(), Kind: change.Object.Kind, Namespace: change.Object.Namespace, Name: change.Object.Name,
			Wave: change.Wave, Action: string(diffAction(change)), Repeats: change.Repeats, Reason: change.Reason, Refusal: change.Refusal, Local: change.Local, Notes: change.Notes,
		}
		if o.diff.show {
			text, err := hunks.Text(wholeChange(change))
			if err != nil {
				return err
			}
			planned.Diff = strings.TrimRight(text, "\n")
		}
		changes = append(changes, planned)
	}
	content := map[string]any{
		"revision": p.Revision.Number, "new": p.New, "sources": sourceTexts(p.Revision.Sources), "summary": o.summary(p), "unchanged": len(p.Shown()) - len(changes), "changes": changes,
	}
	return printDocuments(e, resource("Plan", p.Release.Namespace, p.Release.Name, content).Object, o.output.value)
}

// wholeChange returns a change with what changes in the object, also of a hook that stays the same.
func wholeChange(change reconciler.Change) display.Change {
	shown := shownChange(change, true, &display.Names{})
	shown.Action = diffAction(change)
	return shown
}

// notable returns the changes that are shown.
func notable(p *operation.Plan) []reconciler.Change {
	return slices.DeleteFunc(p.Shown(), func(change reconciler.Change) bool { return diffAction(change) == "" && change.Refusal == "" })
}

// writer returns what shows the diffs of objects.
func (o planOptions) writer() (*display.Writer, error) {
	return display.NewWriter(display.DiffOptions{Context: &o.diff.context, ShowSecrets: o.diff.secrets})
}

// summary counts the changes.
func (o planOptions) summary(p *operation.Plan) string {
	var changes []display.Change
	for _, change := range p.Shown() {
		changes = append(changes, shownChange(change, false, &display.Names{}))
	}
	return display.Summary(changes)
}

// cell makes a text safe for a cell of a table in Markdown, where it means nothing but itself.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, `\`, `\\`, "&", "&amp;", "<", "&lt;", "~", `\~`, "`", "'", "*", `\*`, "_", `\_`, "[", `\[`, "@", "@\u200b").Replace(display.Clean(text))
}

// fenceFor returns a fence that does not occur in a text.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
