// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Options say how to read the files of a kustomization. The kustomization's own settings (in .component-config.yaml)
// win.
type Options struct {
	// TemplateSuffix is the suffix of the names of templates; rendering removes it. Defaults to
	// the empty string, which makes all files templates.
	TemplateSuffix *string
	// LeftTemplateDelimiter defaults to "{{"; so does the empty string.
	LeftTemplateDelimiter *string
	// RightTemplateDelimiter defaults to "}}"; so does the empty string.
	RightTemplateDelimiter *string
	// Decryptor gets all files before they are used, including those outside of the kustomization's folder. Defaults to
	// none.
	Decryptor manifests.Decryptor
	// DisableTemplating turns templates off, so that text that looks like a template is left alone, unless the
	// kustomization itself asks for templates. It also applies to included kustomizations. Defaults to false.
	DisableTemplating bool
	// RootOnly prevents the kustomization, and each of its bases, from reading files outside of its own folder,
	// including by symbolic links, as "kustomize build" does. It also refuses the setting includedFiles. Use it for
	// kustomizations that you do not trust. Defaults to false, which is LoadRestrictionsNone.
	RootOnly bool
}

// KustomizeGenerator generates the objects of a kustomization. It is safe for concurrent use.
//
//nolint:revive // existing operators use this name
type KustomizeGenerator struct {
	// name is the path of the kustomization as it was given.
	name           string
	kustomizations []*kustomization
	// plain are the referenced files outside of the kustomizations, by their absolute paths.
	plain       map[string][]byte
	fingerprint string
	rootOnly    bool
}

var (
	_ manifests.TransformableGenerator = &KustomizeGenerator{}
	_ manifests.Pure                   = &KustomizeGenerator{}
)

// fingerprintVersion must change whenever this package, its template functions, or the Kustomize SDK begin to yield
// other objects from the same kustomization.
const fingerprintVersion = "kustomize/1"

// New returns a generator for the kustomization in the folder kustomizationPath. It reads all
// files and references once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of
// the path is ignored. To embed a kustomization into the program, use the pattern all:, or files such as
// .component-config.yaml are missing.
func New(fsys fs.FS, kustomizationPath string, options Options) (*KustomizeGenerator, error) {
	source, folder, err := newSource(fsys, kustomizationPath, options.Decryptor)
	if err != nil {
		return nil, fmt.Errorf("reading kustomization %s: %w", kustomizationPath, err)
	}
	if options.RootOnly {
		source.bounds = newBounds(fsys == nil)
	}
	loader := &loader{source: source}
	if err := loader.load(folder, options); err != nil {
		return nil, err
	}
	plain, err := loader.followReferences()
	if err != nil {
		return nil, fmt.Errorf("reading kustomization %s: %w", kustomizationPath, err)
	}
	return &KustomizeGenerator{
		name:           kustomizationPath,
		kustomizations: loader.loaded,
		plain:          plain,
		rootOnly:       options.RootOnly,
		fingerprint:    fingerprint(loader.loaded, plain),
	}, nil
}

// WithParameterTransformer returns a generator that transforms the parameters first; see manifests.NewGenerator. This
// one does not change.
func (g *KustomizeGenerator) WithParameterTransformer(transformer manifests.ParameterTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithParameterTransformer(transformer)
}

// WithObjectTransformer returns a generator that transforms the objects afterwards; see manifests.NewGenerator. This
// one does not change.
func (g *KustomizeGenerator) WithObjectTransformer(transformer manifests.ObjectTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithObjectTransformer(transformer)
}

// HasTemplates reports whether any file is a template. If none is, parameters have no effect.
func (g *KustomizeGenerator) HasTemplates() bool {
	return slices.ContainsFunc(g.kustomizations, func(k *kustomization) bool { return k.templates != nil })
}

// Fingerprint identifies the content of the kustomization and of all referenced files, and the options.
func (g *KustomizeGenerator) Fingerprint() string {
	return fingerprintVersion + " " + g.fingerprint
}

// Generate renders the templates with the given parameters as data, and builds the kustomization. The functions that
// the templates call decide which values the context must have. All returned objects are unstructured.
func (g *KustomizeGenerator) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var given map[string]any
	if parameters != nil {
		given = parameters.ToUnstructured()
	}
	given, err := manifest.Normalize(given)
	if err != nil {
		return nil, err
	}
	fsys := kustomize.NewMemory()
	for file, content := range g.plain {
		fsys.Add(file, content)
	}
	// An included kustomization gets the data of the including one, over its own defaults.
	given = manifests.MergeMaps(g.kustomizations[0].config.values, given)
	for i, k := range g.kustomizations {
		data := given
		if i > 0 {
			data = manifests.MergeMaps(k.config.values, given)
		}
		if err := k.render(&occasion{ctx: ctx, namespace: namespace, name: name, readable: k.readable}, data, fsys); err != nil {
			return nil, fmt.Errorf("rendering kustomization %s: %w", g.name, err)
		}
	}
	built, err := kustomize.Build(fsys, g.kustomizations[0].folder, g.rootOnly)
	if err != nil {
		return nil, fmt.Errorf("building kustomization %s: %w", g.name, err)
	}
	objects := make([]client.Object, 0, len(built))
	for _, object := range built {
		objects = append(objects, object)
	}
	return objects, nil
}

// render adds the files of the kustomization to the file system.
func (k *kustomization) render(occasion *occasion, data map[string]any, fsys *kustomize.Memory) error {
	for name, file := range k.outputs {
		if file.template == "" {
			fsys.Add(path.Join(k.folder, name), file.content)
		}
	}
	if k.templates == nil {
		return nil
	}
	renderer, err := k.templates.Renderer(occasion.functions())
	if err != nil {
		return err
	}
	// The order decides which of several errors is reported.
	for _, name := range slices.Sorted(maps.Keys(k.outputs)) {
		template := k.outputs[name].template
		if template == "" {
			continue
		}
		// Templates may change their data; other templates must not see that.
		text, err := renderer.Render(template, manifests.MergeMaps(nil, data))
		if err != nil {
			return err
		}
		fsys.Add(path.Join(k.folder, name), []byte(text))
	}
	return nil
}

// fingerprint leaves out the absolute paths of the folders, because they may change with a restart.
func fingerprint(kustomizations []*kustomization, plain map[string][]byte) string {
	hash := sha256.New()
	add := func(name string, content []byte) {
		fmt.Fprintf(hash, "%q %d\n", name, len(content))
		hash.Write(content)
	}
	root := kustomizations[0].folder
	for _, k := range kustomizations {
		fmt.Fprintf(hash, "%q %t %q %q %q\n", between(root, k.folder), k.config.templating, k.config.suffix, k.config.left, k.config.right)
		for _, name := range slices.Sorted(maps.Keys(k.readable)) {
			add(name, k.readable[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		add(between(root, name), plain[name])
	}
	return hex.EncodeToString(hash.Sum(nil))
}
