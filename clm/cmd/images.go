// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
)

type imagesOptions struct {
	name    string
	sources sourceFlags
	short   bool
	output  choice
}

func newImagesCommand(e *environment) *cobra.Command {
	o := imagesOptions{output: choice{allowed: []string{outputJSON, outputYAML}}}
	command := &cobra.Command{
		Use:   "images SOURCE...",
		Short: "List the container images of charts and other sources",
		Long: `List all container images in the objects that sources render, hooks included, and where each comes from. No cluster is needed.

Images are found in the containers of Pod templates, in volumes, and in the fields of custom resources and variables of containers whose names end with "image". Images
that a program in a container chooses itself are not found.

` + sourcesHelp,
		Example: "  clm images ./chart -f values.yaml\n  clm images ./chart --short | xargs -n 1 docker pull",
		RunE: func(command *cobra.Command, args []string) error {
			o.sources.references = args
			return runImages(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	// The flags of other commands for output would include --template.
	flags.VarP(&o.output, "output", "o", "write the images for programs")
	addSourceFlags(flags, &o.sources)
	addOfflineFlags(flags, &o.sources)
	flags.StringVar(&o.name, "name", lintName, "`name` of the release that is rendered")
	flags.BoolVarP(&o.short, "short", "q", false, "print only the images, each once")
	return command
}

// imageUse is a field with an image. It is its form in output for programs.
type imageUse struct {
	Image string `json:"image"`
	// Object and Field contain the image.
	Object string `json:"object"`
	Field  string `json:"field"`
	// File of the chart, or reference of the source, that rendered the object.
	File string `json:"file"`
}

func runImages(ctx context.Context, e *environment, o imagesOptions) error {
	if err := releases.ValidateName(o.name); err != nil {
		return err
	}
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	set, err := o.sources.load(ctx, e)
	if err != nil {
		return err
	}
	e.noteUnknown(o.sources.unknown)
	request := sources.Request{ReconcilerName: releases.ReconcilerName, Namespace: namespace, Name: o.name, Revision: 1, ReleaseHooks: true}
	if request.Client, err = o.sources.offline(); err != nil {
		return err
	}
	generated, err := set.Generate(ctx, request)
	if err != nil {
		return err
	}
	var uses []imageUse
	for i, object := range generated.Objects {
		text, file := display.Text(object), generated.Origins[i]
		findImages(object.Object, "", func(field, image string) { uses = append(uses, imageUse{image, text, field, file}) })
	}
	slices.SortFunc(uses, func(a, b imageUse) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field))
	})
	return o.print(e, slices.Compact(uses))
}

func (o imagesOptions) print(e *environment, uses []imageUse) error {
	if o.short {
		for _, image := range slices.Compact(display.Map(uses, func(use imageUse) string { return use.Image })) {
			fmt.Fprintln(e.out, display.Clean(image))
		}
		return nil
	}
	if o.output.value != "" {
		items := make([]any, len(uses))
		for i, use := range uses {
			items[i] = resource("Image", "", fmt.Sprintf("%s.%d", o.name, i+1), map[string]any{"status": use}).Object
		}
		return printDocuments(e, listOf(items).Object, o.output.value)
	}
	if len(uses) == 0 {
		fmt.Fprintln(e.err, "no images found")
		return nil
	}
	table := newTable(e.out, display.Column{Header: "IMAGE", Fit: display.Middle}, display.Column{Header: "OBJECT", Fit: display.Middle},
		display.Column{Header: "FIELD", Fit: display.Middle, Spare: true}, display.Column{Header: "FILE", Fit: display.Middle, Spare: true})
	for _, use := range uses {
		table.AddTexts(use.Image, use.Object, use.Field, use.File)
	}
	return table.Write(e.out)
}

// findImages calls a function for each field with an image: fields whose names end with "image", references of image
// volumes, and variables of containers.
func findImages(value any, path string, found func(field, image string)) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			findImages(item, strings.TrimPrefix(path+"."+key, "."), found)
		}
		image, isText := value["value"].(string)
		if name, _ := value["name"].(string); isText && isImageName(name) && looksLikeImage(image) {
			found(path+"."+name, image)
		}
	case []any:
		for i, item := range value {
			findImages(item, fmt.Sprintf("%s[%d]", path, i), found)
		}
	case string:
		key := path[strings.LastIndex(path, ".")+1:]
		inContainer := strings.Contains(path, "ontainers[") && key == "image"
		inVolume := strings.HasSuffix(path, ".image.reference")
		if value != "" && (inContainer || inVolume || isImageName(key) && looksLikeImage(value)) {
			found(path, value)
		}
	}
}

func isImageName(name string) bool { return strings.HasSuffix(strings.ToLower(name), "image") }

// looksLikeImage reports whether a text, whose meaning nothing but the name of its field tells, has a tag, a digest or a
// path.
func looksLikeImage(text string) bool {
	return strings.ContainsAny(text, ":/") && !strings.ContainsAny(text, " \n\t{$") && !strings.Contains(text, "://")
}
