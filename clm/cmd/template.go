// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/types"
)

// templateOptions are the options of clm template.
type templateOptions struct {
	name         string
	sources      sourceFlags
	revision     int64
	isUpgrade    bool
	includeHooks bool
	server       bool
	// showOnly are patterns of the files to show; none means all.
	showOnly []string
	// outputDir is the folder to write the files to; empty for standard output.
	outputDir string
}

func newTemplateCommand(e *environment) *cobra.Command {
	o := templateOptions{}
	command := &cobra.Command{
		Use:   "template NAME SOURCE...",
		Short: "Show the objects that sources render",
		Long: `Show the objects that clm apply would apply with the same arguments. No cluster is needed: flags say what templates see of a cluster, and
lookups find no objects. With --server, templates see the cluster.

` + sourcesHelp,
		Example: "  clm template web ./chart -f values.yaml --kube-version 1.36",
		RunE: func(command *cobra.Command, args []string) error {
			o.name, o.sources.references = args[0], args[1:]
			return runTemplate(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	addSourceFlags(flags, &o.sources)
	flags.BoolVar(&o.sources.strict, "strict", false, "refuse values that no chart has")
	flags.BoolVar(&o.server, "server", false, "ask the cluster: templates see its versions and types, and find its objects")
	addOfflineFlags(flags, &o.sources)
	flags.Int64Var(&o.revision, "revision", 0, "`number` of the revision that templates see (default 1, or 2 for an upgrade)")
	flags.BoolVar(&o.isUpgrade, "is-upgrade", false, "render as if an earlier revision were installed")
	flags.BoolVar(&o.includeHooks, "include-hooks", false, "also show hooks that are applied only when the release is deleted, rolled back or tested")
	flags.StringSliceVarP(&o.showOnly, "show-only", "s", nil,
		"show only what this `file` of a chart or source renders, such as templates/service.yaml or templates/*.yaml (may be repeated)")
	flags.Var(filePath(&o.outputDir), "output-dir", "write the objects into files in this directory, one for each file of the sources")
	command.MarkFlagsMutuallyExclusive("server", "kube-version")
	command.MarkFlagsMutuallyExclusive("server", "api-versions")
	return command
}

func runTemplate(ctx context.Context, e *environment, o templateOptions) error {
	if err := releases.ValidateName(o.name); err != nil {
		return err
	}
	request, err := o.request()
	if err != nil {
		return err
	}
	if request.Namespace, err = e.namespace(); err != nil {
		return err
	}
	if o.server {
		s, err := e.open(ctx, false)
		if err != nil {
			return err
		}
		defer s.Close()
		request.Client = s.Client()
	}
	set, err := o.sources.load(ctx, e)
	if err != nil {
		return err
	}
	e.noteUnknown(o.sources.unknown)
	generated, err := set.Generate(ctx, request)
	if err != nil {
		return err
	}
	return o.print(e, generated)
}

// print writes the rendered objects to standard output, or into files.
func (o templateOptions) print(e *environment, generated *sources.Generated) error {
	objects := generated.Objects
	encoded, failures := make([][]byte, len(objects)), make([]error, len(objects))
	concurrent.Do(len(objects), func(i int) {
		var err error
		if operation.IsRegular(objects[i]) || o.includeHooks {
			encoded[i], err = manifest.Encode(objects[i].Object)
		}
		if err != nil {
			failures[i] = fmt.Errorf("encoding %s: %w", types.IDOf(objects[i]), err)
		}
		objects[i] = nil // its text takes less memory
	})
	if err := cmp.Or(failures...); err != nil {
		return err
	}
	shown, err := o.selected(generated.Origins)
	if err != nil {
		return err
	}
	if o.outputDir != "" {
		return o.writeFiles(e, generated.Origins, encoded, shown)
	}
	out := bufio.NewWriter(e.out)
	for i, document := range encoded {
		if document != nil && shown[generated.Origins[i]] {
			fmt.Fprintf(out, "---\n# Source: %s\n%s", display.Clean(generated.Origins[i]), document)
		}
	}
	return out.Flush()
}

// selected returns the origins of the objects to show. It fails if a pattern matches none.
func (o templateOptions) selected(origins []string) (map[string]bool, error) {
	selected := map[string]bool{}
	for _, origin := range origins {
		selected[origin] = len(o.showOnly) == 0
	}
	for _, pattern := range o.showOnly {
		found := false
		for origin := range selected {
			// Helm's patterns do not begin with the name of the chart.
			_, inChart, _ := strings.Cut(origin, "/")
			for _, name := range []string{origin, inChart} {
				matches, err := path.Match(filepath.ToSlash(pattern), name)
				if err != nil {
					return nil, fmt.Errorf("flag --show-only: %q is not a valid pattern", pattern)
				}
				if matches {
					selected[origin], found = true, true
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("flag --show-only: no object comes from %q; files with objects: %s", pattern,
				display.Enumerate(slices.Sorted(maps.Keys(selected)), maxFiles))
		}
	}
	return selected, nil
}

// maxFiles is how many files a message names.
const maxFiles = 10

// writeFiles writes the objects of each origin into a file of that name, and prints the names of the files.
func (o templateOptions) writeFiles(e *environment, origins []string, documents [][]byte, shown map[string]bool) error {
	files := map[string][]byte{}
	for i, origin := range origins {
		if documents[i] == nil || !shown[origin] {
			continue
		}
		name := filepath.FromSlash(cmp.Or(strings.TrimLeft(path.Clean("/"+origin), "/"), "objects"))
		if !slices.Contains([]string{".yaml", ".yml", ".json", ".txt"}, filepath.Ext(name)) {
			name += ".yaml"
		}
		files[name] = append(fmt.Appendf(files[name], "---\n# Source: %s\n", display.Clean(origin)), documents[i]...)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		target := filepath.Join(o.outputDir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(e.out, "wrote", target)
	}
	return nil
}

// request returns the request for rendering, without a namespace.
func (o templateOptions) request() (sources.Request, error) {
	first := int64(1)
	if o.isUpgrade {
		// The first revision is never an upgrade.
		first = 2
	}
	switch {
	case o.revision == 0:
		o.revision = first
	case o.revision < first:
		return sources.Request{}, fmt.Errorf("flag --revision: invalid value %d; must be at least 1, or at least 2 with --is-upgrade", o.revision)
	}
	offline, err := o.sources.offline()
	return sources.Request{
		ReconcilerName: releases.ReconcilerName,
		Name:           o.name,
		Revision:       o.revision,
		Installed:      o.isUpgrade,
		ReleaseHooks:   o.includeHooks,
		Client:         offline,
	}, err
}
