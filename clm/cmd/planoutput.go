// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
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
		changes := o.planned(p)
		content := map[string]any{
			"revision": p.Revision.Number, "new": p.New, "sources": sourceTexts(p.Revision.Sources), "summary": summary(p), "unchanged": len(p.Shown()) - len(changes), "changes": changes,
		}
		return printDocuments(e, resource("Plan", p.Release.Namespace, p.Release.Name, content).Object, o.output.value)
	case outputMarkdown:
		_, err := io.WriteString(e.out, o.markdown(p))
		return err
	default:
		return showPlan(e, e.out, p, o.diff)
	}
}

// plannedChange is what would become of an object, for programs.
type plannedChange struct {
	display.Object
	Wave    int      `json:"wave"`
	Action  string   `json:"action,omitempty"`
	Repeats bool     `json:"repeats,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Refusal string   `json:"refusal,omitempty"`
	Local   bool     `json:"local,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Diff    string   `json:"diff,omitempty"`

	// listed is false for hooks that run again unchanged.
	listed bool
}

// planned returns what changes, with the diffs if they are wanted.
func (o planOptions) planned(p *operation.Plan) []plannedChange {
	changes := []plannedChange{}
	hunks := display.NewWriter(display.DiffOptions{Context: &o.diff.context, ShowSecrets: o.diff.secrets})
	for _, change := range notable(p) {
		planned := plannedChange{
			Object: display.ObjectOf(change.Object), Wave: change.Wave, Action: string(diffAction(change)), Repeats: change.Repeats, Reason: change.Reason,
			Refusal: change.Refusal, Local: change.Local, Notes: change.Notes, listed: listedAction(change) != display.ActionRepeat,
		}
		if o.diff.show {
			whole := shownChange(change, true, &display.Names{})
			whole.Action = diffAction(change)
			planned.Diff = strings.TrimRight(hunks.Text(whole), "\n")
		}
		changes = append(changes, planned)
	}
	return changes
}

// notable returns the changes that are shown.
func notable(p *operation.Plan) []reconciler.Change {
	return slices.DeleteFunc(p.Shown(), func(change reconciler.Change) bool { return diffAction(change) == "" && change.Refusal == "" })
}

// summary counts the changes.
func summary(p *operation.Plan) string {
	return display.Summary(shownChanges(p, false, &display.Names{}))
}

const (
	// markdownLimit is the number of bytes of rows and diffs in Markdown: a comment on GitHub has at most 65,536
	// characters, and a bot may want to add some.
	markdownLimit = 55000
	// textLimit is the number of bytes of a text within it that others decide about, such as a refusal of the API
	// server.
	textLimit = 2000
)

// markdown returns a plan for a comment in a pull request: a heading, a line that sums up, a table, and the folded
// diff. If there is not enough room, rows go before diffs, and changes that a reviewer must not miss go first.
func (o planOptions) markdown(p *operation.Plan) string {
	changes := slices.DeleteFunc(o.planned(p), func(change plannedChange) bool { return !change.listed })
	slices.SortStableFunc(changes, func(a, b plannedChange) int { return cmp.Compare(a.rank(), b.rank()) })
	text := fmt.Sprintf("### Release %s, %s\n\n**%s**, from %s\n", cell(p.Release.String()), revisionText(p), summary(p), cell(sourceTexts(p.Revision.Sources)))
	table, diffs, left := fitting(changes, markdownLimit)
	if table != "" {
		text += "\n| Object | Change | Why |\n|---|---|---|\n" + table
	}
	if repeated := display.Repetition(shownChanges(p, false, &display.Names{})); repeated != "" {
		text += "\n" + cell(repeated) + "\n"
	}
	if left != "" {
		text += fmt.Sprintf("\nLeft out, because a comment cannot be longer: %s. To see everything, with the sources and flags of this plan: `clm diff %s SOURCE... -n %s`\n",
			left, p.Release.Name, p.Release.Namespace)
	}
	if diffs != "" {
		fence := fenceFor(diffs)
		text += fmt.Sprintf("\n<details><summary>Diff</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n", fence, strings.TrimSpace(diffs), fence)
	}
	return text
}

// fitting returns the rows and the diffs that have room, and says how many do not.
func fitting(changes []plannedChange, room int) (table, diffs, left string) {
	var without []string
	take := func(what string, textOf func(change plannedChange) string) string {
		taken, count := "", 0
		for _, change := range changes {
			if text := textOf(change); len(text) <= room {
				room -= len(text)
				taken += text
			} else {
				count++
			}
		}
		if count > 0 {
			without = append(without, display.Count(count, what))
		}
		return taken
	}
	table = take("row", plannedChange.row)
	diffs = take("diff", func(change plannedChange) string {
		if change.Diff == "" {
			return ""
		}
		return change.Diff + "\n\n"
	})
	return table, diffs, strings.Join(without, " and ")
}

// rank is lower for changes that a reviewer must not miss: what is refused, then what is deleted or recreated.
func (c plannedChange) rank() int {
	dangerous := []display.Action{display.ActionDelete, display.ActionComplete, display.ActionRecreate}
	switch {
	case c.Refusal != "":
		return 0
	case slices.Contains(dangerous, display.Action(c.Action)):
		return 1
	default:
		return 2
	}
}

// row returns the row of an object in the table.
func (c plannedChange) row() string {
	what, why := c.Action, c.Reason
	if c.Refusal != "" {
		what, why = "**refused**", c.Refusal
	}
	if c.Local {
		what += ", local"
	}
	why = strings.TrimPrefix(strings.Join(append([]string{why}, c.Notes...), "; "), "; ")
	return fmt.Sprintf("| %s | %s | %s |\n", cell(c.String()), what, cell(why))
}

// cell makes a text safe for a cell of a table in Markdown, where it means nothing but itself, and shortens a long one.
func cell(text string) string {
	if len(text) > textLimit {
		text = strings.ToValidUTF8(text[:textLimit], "") + "…"
	}
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
