// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/doctor"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

type doctorOptions struct {
	output output
	name   string
	all    bool
	fix    bool
	yes    bool
	// trusted are further namespaces in which marks count as evidence.
	trusted []string
}

func newDoctorCommand(e *environment) *cobra.Command {
	o := doctorOptions{}
	command := &cobra.Command{
		Use:   "doctor [NAME]",
		Short: "Compare the records of releases with the cluster",
		Long: `Compare the record of release NAME, or of all releases in the namespace, with the cluster, and show what is wrong: recorded objects that are gone or
belong to another owner, objects with the owner label of a release that are not in its record, damaged or lost records, and namespaces that wait for a
record.

Any user can set the owner label of a release on an object. clm trusts this label in the namespace of the release, in the namespaces of the objects in its
record or manifests, and on cluster-scoped objects; in other namespaces only with --trust-namespace.

With --fix, clm repairs what can be repaired by changing only records, after confirmation. It does not create, change or delete any applied object.
Whatever else a release needs is done by clm apply or clm drift --correct, which show it first.
` + askingHelp + `

The exit code is 0 if there are no findings (left), 2 if there are, and 1 after an error.`,
		Example: `  clm doctor
  clm doctor web --fix
  clm doctor -A -o json`,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			if o.all && o.name != "" {
				return fmt.Errorf("flag --all-namespaces and a release name (%s) are mutually exclusive", o.name)
			}
			return e.withScope(command.Context(), o.all, func(s *runner.Connection, namespace string) error {
				return o.examine(command.Context(), e, s, namespace)
			})
		},
	}
	o.output = newOutput(command)
	flags := command.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "examine the releases in all namespaces")
	flags.BoolVar(&o.fix, "fix", false, "repair what can be repaired without changing dependents")
	flags.StringSliceVar(&o.trusted, "trust-namespace", nil, "also trust owner labels of objects in this namespace, although the release has no other objects there")
	flags.BoolVarP(&o.yes, "yes", "y", false, "with --fix, do not ask for confirmation")
	return command
}

// examine examines the releases in a namespace; in all namespaces if that is empty.
func (o *doctorOptions) examine(ctx context.Context, e *environment, s *runner.Connection, namespace string) error {
	diagnosis, err := doctor.Examine(ctx, s, doctor.Request{Namespace: namespace, Name: o.name, Trusted: o.trusted})
	if err != nil {
		return err
	}
	if err := o.print(e, diagnosis); err != nil {
		return err
	}
	left := len(diagnosis.Findings)
	if o.fix {
		repaired, err := o.repair(ctx, e, diagnosis)
		if err != nil {
			return err
		}
		left -= repaired
	}
	if left > 0 {
		return &exitError{code: exitChanges}
	}
	return nil
}

func (o *doctorOptions) print(e *environment, diagnosis *doctor.Diagnosis) error {
	if !o.output.forPeople() {
		for _, note := range diagnosis.Notes {
			fmt.Fprintln(e.err, "note:", display.Clean(note))
		}
		return printList(o.output, e.out, diagnosis.Findings, findingResource)
	}
	return writeDiagnosis(e, e.out, diagnosis)
}

func writeDiagnosis(e *environment, out io.Writer, diagnosis *doctor.Diagnosis) error {
	style := e.style(out)
	release := ""
	for _, finding := range diagnosis.Findings {
		if finding.Release != release {
			release = finding.Release
			writeWrapped(out, "", style.Bold("release "+display.Clean(release)))
		}
		writeWrapped(out, "  ", style.Yellow(string(finding.Kind))+"  "+display.Clean(findingText(finding)))
		if finding.Remedy != "" {
			writeWrapped(out, "      ", "with --fix: "+display.Clean(finding.Remedy))
		}
		if finding.Advice != "" {
			writeWrapped(out, "      ", display.Clean(finding.Advice))
		}
	}
	for _, note := range diagnosis.Notes {
		writeWrapped(out, "", style.Faint("note: "+display.Clean(note)))
	}
	_, err := fmt.Fprintf(out, "%s examined, %s\n", display.Count(diagnosis.Releases, "release"), display.Count(len(diagnosis.Findings), "finding"))
	return err
}

func findingText(finding doctor.Finding) string {
	if finding.Object == nil {
		return finding.Message
	}
	return finding.Object.String() + ": " + finding.Message
}

// findingResource returns the machine-readable form of a finding. Its index in the list is part of its name.
func findingResource(i int, finding doctor.Finding) *unstructured.Unstructured {
	status := map[string]any{"kind": finding.Kind, "release": finding.Release, "message": finding.Message}
	addKnown(status, map[string]any{"repair": finding.Remedy, "advice": finding.Advice})
	if finding.Object != nil {
		status["object"] = display.ObjectOf(*finding.Object)
	}
	namespace, name, _ := strings.Cut(finding.Release, "/")
	return resource("Finding", namespace, fmt.Sprintf("%s.%d", name, i+1), map[string]any{"status": status})
}

// repair repairs all repairable findings, and returns their number.
func (o *doctorOptions) repair(ctx context.Context, e *environment, diagnosis *doctor.Diagnosis) (int, error) {
	repairable := slices.DeleteFunc(slices.Clone(diagnosis.Findings), func(finding doctor.Finding) bool { return finding.Remedy == "" })
	if len(repairable) == 0 {
		return 0, nil
	}
	write := func(out io.Writer) error { return writeDiagnosis(e, out, diagnosis) }
	question := fmt.Sprintf("Repair what can be repaired (%d of %d)?", len(repairable), len(diagnosis.Findings))
	if err := e.agree(ctx, o.yes, o.output, write, question); err != nil {
		return 0, err
	}
	repaired := 0
	var failures []error
	for _, finding := range repairable {
		if err := finding.Repair(ctx); err != nil {
			failure := fmt.Errorf("repairing release %s, %s: %w", finding.Release, finding.Kind, err)
			// Several findings may share a repair.
			if !slices.ContainsFunc(failures, func(known error) bool { return known.Error() == failure.Error() }) {
				failures = append(failures, failure)
			}
			continue
		}
		repaired++
		fmt.Fprintf(e.err, "repaired: release %s, %s: %s\n", finding.Release, finding.Kind, display.Clean(findingText(finding)))
	}
	return repaired, errors.Join(failures...)
}
