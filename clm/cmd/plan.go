// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// planOptions are the options of clm plan and clm diff. The description is for the revision that a saved plan creates.
type planOptions struct {
	planFlags
	releaseOptions

	output   choice
	out      string
	exitCode bool
}

func newPlanCommand(e *environment) *cobra.Command {
	o := planOptions{}
	command := &cobra.Command{
		Use:   "plan NAME SOURCE...",
		Short: "Show what clm apply would do",
		Long: `Show what clm apply would do with the same arguments, and do nothing: a line for each object that changes, or, with --diff, the changes themselves. clm asks
the server what would happen to each object, so that the plan includes defaults and the effects of webhooks. If the type or the namespace of an object is part of
the same release, the server cannot tell yet: clm then computes the change from the definition of the type, and marks it as local.

If clm apply would be refused, clm plan says why, and exits with code 4.

A plan that is saved with --out can be applied with clm apply --plan: clm then does exactly what the plan says, or nothing if an object has changed since.
`,
		Example: "  clm plan web ./chart -f values.yaml --out web.plan\n  clm apply web --plan web.plan",
		RunE: func(command *cobra.Command, args []string) error {
			o.name, o.sources.references = args[0], args[1:]
			// These flags imply --diff.
			o.diff.show = o.diff.show || command.Flags().Changed("unified") || command.Flags().Changed("show-secrets")
			return runPlan(command.Context(), e, o)
		},
	}
	addPlanFlags(command, &o)
	command.Flags().BoolVar(&o.diff.show, "diff", false, "show the changes as a diff")
	o.output = choice{allowed: []string{outputJSON, outputYAML, outputMarkdown}}
	command.Flags().VarP(&o.output, "output", "o", "output format: json or yaml for scripts, markdown for a pull request comment")
	command.Flags().Var(filePath(&o.out), "out", "save the plan in this `file`; it contains the objects and values of the release, including secrets")
	addDescriptionFlag(command.Flags(), &o.description)
	return command
}

func newDiffCommand(e *environment) *cobra.Command {
	o := planOptions{}
	command := &cobra.Command{
		Use:   "diff NAME SOURCE|REVISION...",
		Short: "Show how the objects of a release would change, or how two revisions differ",
		Long: `Show how the objects of a release would be changed by clm apply with the same arguments, as a diff of what is stored in the cluster. Values of
Secrets are masked: only their sizes, and which of them are equal, are shown.

With one or two numbers of revisions instead of sources, show what has changed from the first to the second, or to the current revision. The
cluster is asked only for the record of the release.

"clm diff upgrade NAME CHART" is the same as "clm diff NAME CHART", for those who know the diff plugin of Helm.`,
		Example: "  clm diff web ./chart -f values.yaml --unified 10\n  clm diff web 3 5",
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 2 && args[0] == "upgrade" && releases.ValidateName(args[1]) == nil {
				// A release named upgrade may have several sources, too; then the first one needs a slash.
				args = args[1:]
			}
			o.name, o.sources.references = args[0], args[1:]
			if numbers := revisionsIn(args[1:]); numbers != nil {
				return o.compareRevisions(command, e, numbers)
			}
			return runPlan(command.Context(), e, o)
		},
	}
	addPlanFlags(command, &o)
	o.diff.show, o.diff.only = true, true
	return command
}

func addPlanFlags(command *cobra.Command, o *planOptions) {
	flags := command.Flags()
	o.addReleaseFlags(flags)
	addDiffFlags(flags, &o.diff)
	o.addClusterFlags(flags, &o.conflicts)
	addDeletionFlags(flags, &o.maxDeletions, &o.approved)
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with code 2 if there are changes")
}

func runPlan(ctx context.Context, e *environment, o planOptions) error {
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	o.strict = o.sources.strict
	request := o.request(o.planFlags)
	request.Namespace = namespace
	if request.Sources, err = o.sources.load(ctx, e); err != nil {
		return err
	}
	e.noteUnknown(o.sources.unknown)
	s, err := e.open(ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	done := e.announce(comparing)
	p, err := operation.PlanSources(ctx, s, request, true)
	done()
	if err != nil {
		return err
	}
	defer p.Close()
	noteUnready(e, p)
	if err := o.print(e, p); err != nil {
		return err
	}
	if err := errors.Join(o.limitDeletions(p), o.refusal(p)); err != nil {
		return err
	}
	if o.out != "" {
		if err := p.Save(ctx, o.out); err != nil {
			return fmt.Errorf("saving the plan: %w", err)
		}
		fmt.Fprintf(e.err, "The plan is saved. To apply it: clm apply %s --plan %s\n", o.name, o.out)
	}
	if err := refusedByServer(p); err != nil {
		return err
	}
	if o.exitCode && (p.New || len(p.Pending()) > 0) {
		return &exitError{code: exitChanges}
	}
	return nil
}

// noteUnready says which dependencies are not ready.
func noteUnready(e *environment, p *operation.Plan) {
	for _, text := range p.Unready {
		fmt.Fprintf(e.err, "note: a release on which it depends is not ready: %s\n", display.Clean(text))
	}
}

// diffFlags control how changes are shown.
type diffFlags struct {
	// show adds diffs of objects; only omits everything else.
	show, only bool
	context    int
	secrets    bool
}

const defaultContext = 3

func addDiffFlags(flags *pflag.FlagSet, d *diffFlags) {
	// Named as in diff, because --context is the context of the kubeconfig.
	d.context = defaultContext
	flags.VarP(number(&d.context, -1), "unified", "U", "`number` of unchanged lines around each change in a diff; -1 shows whole objects")
	flags.BoolVar(&d.secrets, "show-secrets", false, "show the values of Secrets in a diff")
}

// showPlan writes the changes of a plan.
func showPlan(e *environment, out io.Writer, p *operation.Plan, flags diffFlags) error {
	options := flags.options(e, out)
	options.Brief = !flags.show
	return p.Write(out, !flags.only, options)
}

// options returns the options for diffs on a writer.
func (d diffFlags) options(e *environment, out io.Writer) display.DiffOptions {
	return display.DiffOptions{Style: e.style(out), Context: &d.context, ShowSecrets: d.secrets, Limit: display.Limit(out)}
}

// noteUnverified adds a reservation to each creation in a plan for which the server was not asked about objects.
func noteUnverified(p *operation.Plan) {
	for i := range p.Changes {
		if change := &p.Changes[i]; change.Verb == reconciler.VerbCreated {
			change.Reason = "unless it already exists"
		}
	}
}

// Output formats of a plan.
const (
	outputYAML     = "yaml"
	outputMarkdown = "markdown"
)

// print writes a plan in the requested format.
func (o planOptions) print(e *environment, p *operation.Plan) error {
	switch o.output.value {
	case outputJSON, outputYAML:
		return printDocuments(e, o.object(p).Object, o.output.value)
	case outputMarkdown:
		_, err := io.WriteString(e.out, o.markdown(p))
		return err
	default:
		return showPlan(e, e.out, p, o.diff)
	}
}

// object returns the machine-readable form of a plan.
func (o planOptions) object(p *operation.Plan) *unstructured.Unstructured {
	changes := o.planned(p)
	content := map[string]any{
		"revision": p.Revision.Number, "new": p.New, "sources": releases.SourceTexts(p.Revision.Sources), "summary": p.Summary(),
		"unchanged": len(p.Shown()) - len(changes), "changes": changes,
	}
	addKnown(content, map[string]any{"warnings": o.sources.unknown})
	return resource("Plan", p.Release.Namespace, p.Release.Name, content)
}

// plannedChange is the machine-readable form of a change.
type plannedChange struct {
	lines display.Lines // that change
	alike []string      // names of the objects in the row of a table, if there are several

	display.Object
	Wave int `json:"wave"`
	display.Change
	Repeats bool   `json:"repeats,omitempty"`
	Diff    string `json:"diff,omitempty"`
}

// planned returns the changes, with diffs if requested.
func (o planOptions) planned(p *operation.Plan) []plannedChange {
	changes := []plannedChange{}
	hunks := display.NewWriter(display.DiffOptions{Context: &o.diff.context, ShowSecrets: o.diff.secrets})
	for _, change := range p.Notable() {
		planned := plannedChange{
			Object: display.ObjectOf(change.Object), Change: operation.DisplayChange(change, true, &display.Names{}), Wave: change.Wave, Repeats: change.Repeats,
		}
		planned.Action, planned.lines = operation.ActionOf(change), hunks.Lines(planned.Change)
		if o.diff.show {
			planned.Diff = strings.TrimRight(hunks.Text(planned.Change), "\n")
		}
		// Programs get the reason even if the action implies it. Both forms of the object are only for the diff.
		planned.Reason, planned.Before, planned.After = change.Reason, nil, nil
		changes = append(changes, planned)
	}
	return changes
}

const (
	// markdownLimit is the number of bytes of rows and diffs in Markdown: a comment on GitHub has at most 65,536
	// characters, and a bot may want to add some.
	markdownLimit = 55000
	// textLimit is the maximum number of bytes of a text within it that comes from others, such as a refusal of the API
	// server.
	textLimit = 2000
)

// markdown returns a plan for a comment in a pull request: a heading, a line that sums up, a table, and the folded
// diff. If there is not enough room, rows take precedence over diffs, and changes that a reviewer must not miss over
// others.
func (o planOptions) markdown(p *operation.Plan) string {
	// Unchanged hooks share one line below the table.
	changes := slices.DeleteFunc(o.planned(p), func(c plannedChange) bool { return c.Repeats && c.Refusal == "" && len(c.Notes) == 0 })
	slices.SortStableFunc(changes, func(a, b plannedChange) int { return cmp.Compare(a.rank(), b.rank()) })
	text := fmt.Sprintf("### Release %s, %s\n\n**%s**, from %s\n", cell(p.Release.String()), p.RevisionText(), p.Summary(), cell(releases.PinnedTexts(p.Revision.Sources)))
	table, diffs, left := fitting(folded(changes), markdownLimit)
	if table != "" {
		text += "\n| Object | Change | Why |\n|---|---|---|\n" + table
	}
	if repeated := display.Repetition(p.DisplayChanges(false, &display.Names{})); repeated != "" {
		text += "\n" + cell(repeated) + "\n"
	}
	if len(o.sources.unknown) > 0 {
		text += "\nWithout effect: " + cell(strings.Join(o.sources.unknown, "; ")) + "\n"
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

// folded puts objects that change alike together.
func folded(changes []plannedChange) []plannedChange {
	var rows []plannedChange
	for _, alike := range display.Fold(changes, func(change plannedChange) (display.Change, display.Lines) { return change.Change, change.lines }) {
		row := alike[0]
		if more := len(alike) - 1; more > 0 {
			row.alike = display.Map(alike, plannedChange.String)
			if row.Diff != "" {
				row.Diff += fmt.Sprintf("\n  the same in %s", display.Count(more, "other object"))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// fitting returns the rows and diffs that fit, and a text with the number of the others.
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

// rank is lower for changes that a reviewer must not miss: refusals, then deletions and recreations.
func (c plannedChange) rank() int {
	dangerous := []display.Action{display.ActionDelete, display.ActionComplete, display.ActionRecreate}
	switch {
	case c.Refusal != "":
		return 0
	case slices.Contains(dangerous, c.Action):
		return 1
	default:
		return 2
	}
}

// row returns the row of an object in the table.
func (c plannedChange) row() string {
	what, why := string(c.Action), c.Reason
	if c.Refusal != "" {
		what, why = "**refused**", c.Refusal
	}
	if c.Local {
		what += ", local"
	}
	why = strings.TrimPrefix(strings.Join(append([]string{why}, c.Notes...), "; "), "; ")
	object := cell(c.String())
	if len(c.alike) > 0 {
		count, some, text := display.FoldedText(c.alike, c.lines)
		object = cell(count + ": " + some)
		for line := range strings.Lines(text) {
			object += "<br>" + cell(strings.TrimSpace(line))
		}
	}
	return fmt.Sprintf("| %s | %s | %s |\n", object, what, cell(why))
}

// cell escapes a text for a cell of a Markdown table, and shortens a long one.
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
