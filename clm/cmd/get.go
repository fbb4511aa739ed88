// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
)

func newGetCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "get",
		Short: "Print the manifest, the values or other parts of a revision",
	}
	command.AddCommand(
		newGetPartCommand(e, "all", "Print all parts of a revision", func(_ context.Context, r recordedRevision) (any, error) {
			return map[string]any{"metadata": r.metadata(), "values": r.values(), "manifest": r.objects(isAny), "notes": r.Notes}, nil
		}),
		newGetPartCommand(e, "manifest", "Print the objects of a revision, as they were generated", func(_ context.Context, r recordedRevision) (any, error) {
			return r.objects(isAny), nil
		}),
		newGetPartCommand(e, "hooks", "Print the hooks of a revision, also those that Helm declares", func(_ context.Context, r recordedRevision) (any, error) {
			return r.objects(operation.IsHook), nil
		}),
		newGetValuesCommand(e),
		newGetPartCommand(e, "metadata", "Print what is recorded about a revision", func(_ context.Context, r recordedRevision) (any, error) {
			return r.metadata(), nil
		}),
		newGetNotesCommand(e),
	)
	return command
}

// recordedRevision is a revision of a release with its content.
type recordedRevision struct {
	releases.Revision
	releases.Content

	release *releases.Release
}

func (r recordedRevision) values() map[string]any {
	if r.Values == nil {
		return map[string]any{} // rather than null
	}
	return r.Values
}

// objects returns the chosen objects of the manifest.
func (r recordedRevision) objects(isChosen func(*unstructured.Unstructured) bool) []any {
	chosen := []any{}
	for _, object := range r.Manifest {
		if isChosen(object) {
			chosen = append(chosen, object.Object)
		}
	}
	return chosen
}

func isAny(*unstructured.Unstructured) bool { return true }

func (r recordedRevision) metadata() map[string]any {
	metadata := revisionContent(r.Revision)
	metadata["name"], metadata["namespace"] = r.release.Name, r.release.Namespace
	return metadata
}

func newGetValuesCommand(e *environment) *cobra.Command {
	all := false
	command := newGetPartCommand(e, "values", "Print the values of a revision, as they were given", func(ctx context.Context, r recordedRevision) (any, error) {
		if !all {
			return r.values(), nil
		}
		return sources.AllValues(ctx, r.release.Namespace, r.Sources, r.values())
	})
	command.Long += " With --all, the defaults of the charts are included. They are not recorded: clm loads the charts again from where they were."
	command.Flags().BoolVarP(&all, "all", "a", false, "include the defaults of the charts")
	return command
}

// newGetPartCommand returns a command that prints a part of a revision as YAML or JSON.
func newGetPartCommand(e *environment, part, short string, of func(context.Context, recordedRevision) (any, error)) *cobra.Command {
	form := choice{value: outputYAML, allowed: []string{outputYAML, outputJSON}}
	command := newContentCommand(e, &cobra.Command{
		Use:     part + " NAME",
		Short:   short,
		Long:    short + ". Secrets are printed in plain text.",
		Example: "  clm get " + part + " web --revision 3",
	}, func(ctx context.Context, revision recordedRevision) error {
		found, err := of(ctx, revision)
		if err != nil {
			return err
		}
		return printDocuments(e, found, form.value)
	})
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
	}, func(_ context.Context, content recordedRevision) error {
		if content.Notes == "" {
			fmt.Fprintln(e.err, "there are no notes")
			return nil
		}
		return printNotes(e.out, content.Notes)
	})
}

// newContentCommand completes a command that prints the content of a revision.
func newContentCommand(e *environment, command *cobra.Command, write func(ctx context.Context, revision recordedRevision) error) *cobra.Command {
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
			at := slices.IndexFunc(release.Revisions, func(r releases.Revision) bool { return r.Number == revision })
			return write(command.Context(), recordedRevision{release: release, Revision: release.Revisions[at], Content: content})
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
