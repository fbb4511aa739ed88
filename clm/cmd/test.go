// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

type testOptions struct {
	operation.TestRequest

	filters []string
	printed output
}

func newTestCommand(e *environment) *cobra.Command {
	o := testOptions{}
	command := &cobra.Command{
		Use:   "test NAME",
		Short: "Run the tests of a release",
		Long: `Run the tests of release NAME: objects of its current revision with the annotation clm.cs.sap.com/release-hook: test, which are not applied with the
release. The test hooks of Helm are such objects. They are applied wave by wave; a wave begins when all tests of the one before have passed. A Job
or a Pod passes when it completes, any other object when it is ready.

The objects of a run are removed at the beginning of the next run, and with the release. With Helm's hook-delete-policy, they are removed at the end of the
run: those that passed with hook-succeeded, those that failed with hook-failed. For tests without Helm, the annotations purge-order (any number) and
purge-on-failure do the same.

For tests that have not passed, clm shows the last lines of their logs. The release is locked during the run. The exit code is 3 unless all tests have
passed.`,
		Example: "  clm test web\n  clm test web --filter name=connection --logs",
		RunE: func(command *cobra.Command, args []string) error {
			o.Name = args[0]
			for _, filter := range o.filters {
				if err := o.addFilter(filter); err != nil {
					return err
				}
			}
			return e.repeat(command.Context(), false, func(s *runner.Connection, namespace string) error {
				o.Namespace = namespace
				return o.attempt(command.Context(), e, s)
			})
		},
	}
	flags := command.Flags()
	addLimitFlags(flags, &o.Limits)
	flags.StringSliceVar(&o.filters, "filter", nil, "run only the test with this name, `name=NAME`, or skip it, !name=NAME; may be repeated")
	flags.BoolVar(&o.AllLogs, "logs", false, "show the complete logs of all tests")
	o.printed = newOutput(command)
	return command
}

func (o *testOptions) addFilter(filter string) error {
	rest, except := strings.CutPrefix(filter, "!")
	name, found := strings.CutPrefix(rest, "name=")
	switch {
	case !found || name == "":
		return fmt.Errorf("--filter: %q is neither name=NAME nor !name=NAME", filter)
	case except:
		o.Except = append(o.Except, name)
	default:
		o.Only = append(o.Only, name)
	}
	return nil
}

func (o *testOptions) attempt(ctx context.Context, e *environment, s *runner.Connection) error {
	run, err := operation.PlanTests(ctx, s, o.TestRequest)
	if err != nil {
		return err
	}
	results, failure := run.Execute(ctx)
	if failure == nil || len(results) > 0 {
		if err := o.show(e, results); err != nil {
			return err
		}
	}
	return shown(failure)
}

func (o *testOptions) show(e *environment, results []operation.TestResult) error {
	switch {
	case !o.printed.forPeople():
		content := map[string]any{"status": map[string]any{"tests": testContents(results)}}
		return o.printed.print(e.out, resource("TestRun", o.Namespace, o.Name, content))
	case len(results) == 0:
		fmt.Fprintf(e.err, "release %s/%s has no tests to run\n", o.Namespace, o.Name)
		return nil
	default:
		return showTests(e.out, o.Namespace, results)
	}
}

// showTests writes a table, and below it the reasons and logs of each test.
func showTests(out io.Writer, namespace string, results []operation.TestResult) error {
	names := display.NewNames(display.Limit(out)/2, namespace)
	for _, result := range results {
		names.Include(result.Test)
	}
	table := newTable(out, display.Column{Header: "TEST", Fit: display.Middle}, display.Column{Header: "RESULT"}, display.Column{Header: "MESSAGE", Fit: display.End})
	for _, result := range results {
		table.AddTexts(names.Of(result.Test), string(result.State), result.Message)
	}
	if err := table.Write(out); err != nil {
		return err
	}
	for _, result := range results {
		showTest(out, result)
	}
	return nil
}

func showTest(out io.Writer, result operation.TestResult) {
	if len(result.Why) == 0 && result.Log == "" {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", display.Clean(fmt.Sprint(result.Test)))
	for _, reason := range result.Why {
		writeWrapped(out, "  ", display.Clean(fmt.Sprintf("%s: %s", reason.Source, reason.Text)))
	}
	if result.Log != "" {
		fmt.Fprintln(out, result.Log)
	}
}

// testContents returns the machine-readable form of test results.
func testContents(results []operation.TestResult) []any {
	contents := make([]any, len(results))
	for i, result := range results {
		content := map[string]any{"object": display.ObjectOf(result.Test), "state": result.State}
		var why []map[string]any
		for _, reason := range result.Why {
			why = append(why, map[string]any{"source": reason.Source, "text": reason.Text})
		}
		addKnown(content, map[string]any{"message": result.Message, "log": result.Log, "why": why})
		contents[i] = content
	}
	return contents
}
