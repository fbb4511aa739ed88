// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
)

type getOptions struct {
	name     string
	revision int64
	output   choice
}

func newGetCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:        "get",
		SuggestFor: []string{"show"},
		Short:      "Print the manifest or the values of a revision",
		Args:       cobra.NoArgs,
	}
	command.AddCommand(
		newGetPartCommand(e, "manifest", "Print the objects of a revision, as they were generated", func(content releases.Content) any {
			objects := make([]any, len(content.Manifest))
			for i, object := range content.Manifest {
				objects[i] = object.Object
			}
			return objects
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
	o := getOptions{output: choice{value: "yaml", allowed: []string{"yaml", "json"}}}
	command := &cobra.Command{
		Use:     part + " NAME",
		Short:   short,
		Long:    short + ". Secrets are printed in plain text.",
		Example: "  clm get " + part + " web --revision 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return runGet(command.Context(), e, o, of)
		},
	}
	addRevisionFlag(command, &o)
	command.Flags().VarP(&o.output, "output", "o", "output format")
	return command
}

func newGetNotesCommand(e *environment) *cobra.Command {
	o := getOptions{}
	command := &cobra.Command{
		Use:   "notes NAME",
		Short: "Print the notes of the charts of a revision",
		Long: `Print what the charts of a revision say in their files NOTES.txt, as clm apply shows it. Notes were rendered with the values of the revision, and may contain
secrets.`,
		Example: "  clm get notes web --revision 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.name = args[0]
			return runGetNotes(command.Context(), e, o)
		},
	}
	addRevisionFlag(command, &o)
	return command
}

func addRevisionFlag(command *cobra.Command, o *getOptions) {
	command.Flags().Var(number(&o.revision, 1), "revision", "`number` of the revision (default the current one)")
}

func runGetNotes(ctx context.Context, e *environment, o getOptions) error {
	content, err := contentOf(ctx, e, o)
	if err != nil {
		return err
	}
	if content.Notes == "" {
		fmt.Fprintln(e.err, "there are no notes")
		return nil
	}
	return printNotes(e.out, content.Notes)
}

// printNotes writes notes, which come from the author of a chart.
func printNotes(out io.Writer, notes string) error {
	_, err := fmt.Fprintln(out, display.CleanLines(notes))
	return err
}

func runGet(ctx context.Context, e *environment, o getOptions, of func(releases.Content) any) error {
	content, err := contentOf(ctx, e, o)
	if err != nil {
		return err
	}
	return printDocuments(e, of(content), o.output.value)
}

// contentOf reads the content of a revision.
func contentOf(ctx context.Context, e *environment, o getOptions) (releases.Content, error) {
	s, namespace, err := e.connect(ctx, false)
	if err != nil {
		return releases.Content{}, err
	}
	defer s.Close()
	release, err := s.Release(ctx, namespace, o.name)
	if err != nil {
		return releases.Content{}, err
	}
	if o.revision == 0 {
		current := release.Current()
		if current == nil {
			return releases.Content{}, fmt.Errorf("release %s has no revisions", release)
		}
		o.revision = current.Number
	}
	return s.Records().Content(ctx, release, o.revision)
}

// printDocuments writes a value; in YAML each element of a list is a document of its own.
func printDocuments(e *environment, value any, format string) error {
	if format == "json" {
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
