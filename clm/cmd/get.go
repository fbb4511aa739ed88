// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
)

func newGetCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:        "get",
		SuggestFor: []string{"show"},
		Short:      "Print the manifest or the values of a revision",
	}
	command.AddCommand(
		newGetPartCommand(e, "manifest", "Print the objects of a revision, as they were generated", func(content releases.Content) any {
			return display.Map(content.Manifest, func(object *unstructured.Unstructured) any { return object.Object })
		}),
		newGetPartCommand(e, "values", "Print the values of a revision, as they were given", func(content releases.Content) any {
			if content.Values == nil {
				return map[string]any{}
			}
			return content.Values
		}),
		newGetNotesCommand(e),
	)
	return command
}

func newGetPartCommand(e *environment, part, short string, of func(releases.Content) any) *cobra.Command {
	form := choice{value: outputYAML, allowed: []string{outputYAML, outputJSON}}
	command := newContentCommand(e, &cobra.Command{
		Use:     part + " NAME",
		Short:   short,
		Long:    short + ". Secrets are printed in plain text.",
		Example: "  clm get " + part + " web --revision 3",
	}, func(content releases.Content) error { return printDocuments(e, of(content), form.value) })
	command.Flags().VarP(&form, "output", "o", "output format")
	return command
}

func newGetNotesCommand(e *environment) *cobra.Command {
	return newContentCommand(e, &cobra.Command{
		Use:   "notes NAME",
		Short: "Print the notes of the charts of a revision",
		Long: `Print what the charts of a revision say in their files NOTES.txt, as clm apply shows it. Notes were rendered with the values of the revision, and may contain
secrets.`,
		Example: "  clm get notes web --revision 3",
	}, func(content releases.Content) error {
		if content.Notes == "" {
			fmt.Fprintln(e.err, "there are no notes")
			return nil
		}
		return printNotes(e.out, content.Notes)
	})
}

// newContentCommand completes a command that prints the content of a revision.
func newContentCommand(e *environment, command *cobra.Command, write func(content releases.Content) error) *cobra.Command {
	var revision int64
	command.RunE = func(command *cobra.Command, args []string) error {
		return e.withRelease(command.Context(), args[0], func(s *runner.Connection, release *releases.Release) error {
			current := release.Current()
			if current == nil && revision == 0 {
				return fmt.Errorf("release %s has no revisions", release)
			}
			if revision == 0 {
				revision = current.Number
			}
			content, err := s.Records().Content(command.Context(), release, revision)
			if err != nil {
				return err
			}
			return write(content)
		})
	}
	command.Flags().Var(number(&revision, 1), "revision", "`number` of the revision (default the current one)")
	return command
}

// printNotes writes notes, which come from the author of a chart.
func printNotes(out io.Writer, notes string) error {
	_, err := fmt.Fprintln(out, display.CleanLines(notes))
	return err
}

// printDocuments writes a value; in YAML each element of a list is a document of its own.
func printDocuments(e *environment, value any, format string) error {
	if format == outputJSON {
		encoder := json.NewEncoder(e.out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	documents, many := value.([]any)
	if !many {
		documents = []any{value}
	}
	for _, document := range documents {
		text, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("encoding YAML: %w", err)
		}
		if many {
			fmt.Fprintln(e.out, "---")
		}
		if _, err := e.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
