// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Exit codes of Plan.
const (
	exitDone    = 0
	exitError   = 1
	exitChanges = 2
	exitRefused = 4
)

// Plan is the command "plan" of a program that runs operators. It prints what this version of the operators would do
// with the live components, also while another version runs, and changes nothing; see [component.Preview]. The user
// needs permission to read the components, what they refer to, and their dependents. With permission to patch
// dependents, the API server checks the changes in dry runs.
//
// The arguments are those after "plan": names of components, and flags. The result is the exit code: 0, 1 after an
// error, 4 if a change is refused or cannot be planned, and otherwise, with --exit-code, 2 if there are changes.
func Plan(ctx context.Context, operators []Operator, arguments []string, out, errOut io.Writer) int {
	code, err := plan(ctx, operators, arguments, out, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		_, _ = fmt.Fprintln(errOut, "Error:", err)
		return exitError
	default:
		return code
	}
}

// planFlags are the flags of the command.
type planFlags struct {
	namespace     string
	allNamespaces bool
	diff          bool
	output        string
	exitCode      bool
}

func (f *planFlags) declare(flags *flag.FlagSet) {
	flags.StringVar(&f.namespace, "n", "", "namespace of the components (default all namespaces)")
	flags.StringVar(&f.namespace, "namespace", "", "the same as -n")
	flags.BoolVar(&f.allNamespaces, "A", false, "components in all namespaces, which is the default")
	flags.BoolVar(&f.diff, "diff", false, "show the changes as a diff, for one component of each group")
	flags.StringVar(&f.output, "o", "text", "output `format`: text, json, yaml, or markdown for a pull request comment")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with code 2 if there are changes")
	config.RegisterFlags(flags)
}

func (f *planFlags) check() error {
	if f.allNamespaces && f.namespace != "" {
		return errors.New("-A and -n exclude each other")
	}
	if formats := []string{"text", "json", "yaml", "markdown"}; !slices.Contains(formats, f.output) {
		return fmt.Errorf("-o %q: must be one of: %s", f.output, strings.Join(formats, ", "))
	}
	return nil
}

func plan(ctx context.Context, operators []Operator, arguments []string, out, errOut io.Writer) (code int, err error) {
	flags, chosen := flag.NewFlagSet("plan", flag.ContinueOnError), &planFlags{}
	flags.SetOutput(errOut)
	flags.Usage = func() {
		_, _ = fmt.Fprintf(errOut, "Show what this version of the operator would do with the live components, and change nothing.\n\nUsage: plan [flags] [NAME...]\n\n")
		flags.PrintDefaults()
	}
	chosen.declare(flags)
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return 0, err
	}
	for _, op := range operators {
		op.InitScheme(scheme)
		op.InitFlags(flags)
	}
	names, err := parse(flags, arguments)
	if err == nil {
		err = chosen.check()
	}
	if err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard())
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return 0, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	preview, err := component.NewPreview(restConfig, scheme)
	if err != nil {
		return 0, err
	}
	for _, op := range operators {
		if err := op.ValidateFlags(); err != nil {
			return 0, err
		}
		if err := op.Setup(preview); err != nil {
			return 0, fmt.Errorf("setting up %s: %w", op.GetName(), err)
		}
	}
	found := &fleet{groups: map[string]*group{}, whole: chosen.diff}
	for each, err := range preview.Components(ctx, component.PreviewOptions{Namespace: chosen.namespace, Names: names}) {
		if err != nil {
			return 0, err
		}
		found.add(each)
	}
	if err := found.print(out, chosen.output); err != nil {
		return 0, err
	}
	return found.code(chosen.exitCode), nil
}

// parse returns the arguments that are no flags. They may stand before flags.
func parse(flags *flag.FlagSet, arguments []string) (names []string, err error) {
	for {
		if err := flags.Parse(arguments); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return names, nil
		}
		names, arguments = append(names, flags.Arg(0)), flags.Args()[1:]
	}
}

// A fleet has all components, in groups with the same changes, by what their members have in common.
type fleet struct {
	groups map[string]*group
	// whole means that diffs are shown.
	whole bool
}

// group has the components with the same changes.
type group struct {
	// Components are named NAMESPACE/NAME.
	Components []string `json:"components"`
	Kind       string   `json:"kind"`
	// Changes are those of the objects of the first component. If there are more, NAME stands for their names.
	Changes []change `json:"changes,omitempty"`
	// Problem and Held are those of component.Previewed.
	Problem string `json:"problem,omitempty"`
	Held    string `json:"held,omitempty"`

	// common is the group with NAME for the name of the component.
	common *group
}

// change is a change of an object.
type change struct {
	Object string `json:"object"`
	display.Change
	// Lines are the lines of the content that change.
	Lines []string `json:"lines,omitempty"`
	// Diff shows them with their surroundings.
	Diff string `json:"diff,omitempty"`
}

// actions are the actions of verbs.
var actions = map[reconciler.Verb]display.Action{
	reconciler.VerbCreated: display.ActionCreate, reconciler.VerbAdopted: display.ActionAdopt, reconciler.VerbUpdated: display.ActionUpdate,
	reconciler.VerbCorrected: display.ActionCorrect, reconciler.VerbRestored: display.ActionRestore, reconciler.VerbDeleted: display.ActionDelete,
	reconciler.VerbCompleted: display.ActionComplete, reconciler.VerbOrphaned: display.ActionOrphan,
}

// add puts a component into its group.
func (f *fleet) add(previewed component.Previewed) {
	g := &group{Kind: previewed.Kind.GroupKind().String(), Problem: previewed.Problem, Held: previewed.Held}
	writer := display.NewWriter(display.DiffOptions{})
	if previewed.Plan != nil {
		for _, planned := range previewed.Plan.Changes {
			if planned.Verb != "" || planned.Refusal != "" || planned.Recreate {
				g.Changes = append(g.Changes, changeOf(planned, writer))
			}
		}
	}
	g.common = g.generalized(previewed.Namespace, previewed.Name)
	key := g.common.key()
	if known := f.groups[key]; known != nil {
		g = known
	}
	f.groups[key] = g
	g.Components = append(g.Components, strings.TrimPrefix(previewed.Namespace+"/"+previewed.Name, "/"))
}

// generalized returns the group with NAME for the name of the component, and without its namespace.
func (g *group) generalized(namespace, name string) *group {
	// Part of a longer name may be the name, but not part of a path such as that of an image.
	names := regexp.MustCompile(`(^|[^a-z0-9./])` + regexp.QuoteMeta(name) + `($|[^a-z0-9./])`)
	replace := func(text string) string {
		if namespace != "" {
			text = strings.ReplaceAll(text, " "+namespace+"/", " ")
		}
		// Names that share a separator are matched by the second replacement.
		return names.ReplaceAllString(names.ReplaceAllString(text, "${1}NAME${2}"), "${1}NAME${2}")
	}
	common := &group{Kind: g.Kind, Problem: replace(g.Problem), Held: replace(g.Held)}
	for _, c := range g.Changes {
		c.Object, c.Change.Object = replace(c.Object), replace(c.Change.Object)
		c.Reason, c.Refusal, c.Diff = replace(c.Reason), replace(c.Refusal), replace(c.Diff)
		c.Notes, c.Lines = slices.Clone(c.Notes), slices.Clone(c.Lines)
		for _, texts := range [][]string{c.Notes, c.Lines} {
			for i := range texts {
				texts[i] = replace(texts[i])
			}
		}
		common.Changes = append(common.Changes, c)
	}
	return common
}

// key is equal for groups with the same changes. What surrounds changed lines does not count.
func (g *group) key() string {
	bare := *g
	bare.Changes = slices.Clone(g.Changes)
	for i := range bare.Changes {
		bare.Changes[i].Diff = ""
	}
	return fmt.Sprintf("%+v", bare)
}

// shown returns the group as it is shown: with the names of its only component, or with those that all have in common.
func (g *group) shown(whole bool) *group {
	shown := *g
	if len(g.Components) > 1 {
		shown.Changes, shown.Problem, shown.Held = g.common.Changes, g.common.Problem, g.common.Held
	}
	shown.Changes = slices.Clone(shown.Changes)
	for i := range shown.Changes {
		if !whole {
			shown.Changes[i].Diff = ""
		}
	}
	return &shown
}

// changeOf returns a planned change.
func changeOf(planned reconciler.Change, writer *display.Writer) change {
	object := display.Text(planned.Object)
	c := change{Object: object, Change: display.Change{
		Object: object, Action: actions[planned.Verb], Reason: planned.Reason, Refusal: planned.Refusal, Notes: planned.Notes, Local: planned.Local,
	}}
	if planned.Recreate {
		c.Action = display.ActionRecreate
	}
	if planned.Before == nil || planned.After == nil {
		return c
	}
	whole := c.Change
	whole.Before, whole.After, whole.Notes, whole.Refusal = planned.Before.Object, planned.After.Object, nil, ""
	_, c.Diff, _ = strings.Cut(strings.TrimRight(writer.Text(whole), "\n"), "\n")
	c.Lines = writer.Lines(whole).Text
	return c
}

// rank is lower for groups that a reader must not miss.
func (g *group) rank() int {
	isRefused := slices.ContainsFunc(g.Changes, func(c change) bool { return c.Refusal != "" })
	switch {
	case isRefused:
		return 0
	case g.Problem != "":
		return 1
	case len(g.Changes) > 0:
		return 2
	case g.Held != "":
		return 3
	default:
		return 4
	}
}

// sorted returns the groups, by rank, and large ones first.
func (f *fleet) sorted() []*group {
	groups := make([]*group, 0, len(f.groups))
	for _, g := range f.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(b.Components), len(a.Components)), cmp.Compare(a.Components[0], b.Components[0]))
	})
	return groups
}

func (f *fleet) code(askedForChanges bool) int {
	rank := 4
	for _, g := range f.groups {
		rank = min(rank, g.rank())
	}
	switch {
	case rank <= 1:
		return exitRefused
	case rank == 2 && askedForChanges:
		return exitChanges
	default:
		return exitDone
	}
}

func (f *fleet) print(out io.Writer, format string) error {
	groups := f.sorted()
	for i, g := range groups {
		groups[i] = g.shown(f.whole)
	}
	var text []byte
	var err error
	switch format {
	case "json":
		text, err = json.MarshalIndent(map[string]any{"groups": groups}, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(map[string]any{"groups": groups})
	case "markdown":
		text = []byte(describe(groups, "### ", "```diff\n", "```\n"))
	default:
		text = []byte(describe(groups, "", "", ""))
	}
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// maxNamed is the maximum number of components that a line names.
const maxNamed = 5

// describe returns the groups for people, each below a heading, and between fences.
func describe(groups []*group, heading, open, end string) string {
	var text strings.Builder
	total := 0
	for _, g := range groups {
		total += len(g.Components)
	}
	fmt.Fprintf(&text, "%s%s\n", heading, display.Count(total, "component"))
	for _, g := range groups {
		fmt.Fprintf(&text, "\n%s%s%s: %s\n", heading, display.Count(len(g.Components), "component"), " of kind "+g.Kind, g.verdict())
		fmt.Fprintf(&text, "%s\n", display.Enumerate(g.Components, maxNamed))
		if len(g.Changes) == 0 {
			continue
		}
		text.WriteString(open)
		for _, c := range g.Changes {
			text.WriteString(c.text())
		}
		text.WriteString(end)
	}
	return text.String()
}

// verdict says in one line what becomes of a group.
func (g *group) verdict() string {
	changes := make([]display.Change, len(g.Changes))
	for i, c := range g.Changes {
		changes[i] = c.Change
	}
	switch {
	case g.Problem != "":
		return "cannot be planned: " + g.Problem
	case len(changes) == 0 && g.Held != "":
		return "left alone: " + g.Held
	case g.Held != "":
		return display.Summary(changes) + "; not now: " + g.Held
	case len(changes) == 0:
		return "unchanged"
	default:
		return display.Summary(changes)
	}
}

// text returns a change for people.
func (c change) text() string {
	text := display.NewWriter(display.DiffOptions{}).Text(c.Change)
	if c.Diff != "" {
		return text + c.Diff + "\n"
	}
	return text + display.LinesText(c.Lines)
}
