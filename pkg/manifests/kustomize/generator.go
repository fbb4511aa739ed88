// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Options define how the files of a kustomization are read. The kustomization's own settings (in
// .component-config.yaml) win.
type Options struct {
	// TemplateSuffix is the suffix of the names of templates. Rendering removes it. Defaults to the empty string, which
	// makes all files templates.
	TemplateSuffix *string
	// LeftTemplateDelimiter defaults to "{{"; so does the empty string.
	LeftTemplateDelimiter *string
	// RightTemplateDelimiter defaults to "}}"; so does the empty string.
	RightTemplateDelimiter *string
	// Decryptor gets all files before they are used, including those outside of the kustomization's folder. Defaults to
	// none.
	Decryptor manifests.Decryptor
	// DisableTemplating disables templates, so that text that looks like a template stays the same, unless the
	// kustomization itself enables them. It also applies to included kustomizations. Defaults to false.
	DisableTemplating bool
	// RootOnly prevents the kustomization, and each of its bases, from reading files outside of its own folder,
	// including by symbolic links, like "kustomize build" does. It also refuses the setting includedFiles. Use it for
	// untrusted kustomizations. Defaults to false, which is LoadRestrictionsNone.
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

// fingerprintVersion must change whenever this package, its template functions, or the Kustomize SDK yields other
// objects from the same kustomization than before.
const fingerprintVersion = "kustomize/1"

// New returns a generator for the kustomization in the folder kustomizationPath. It reads all files and references
// once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of the path is ignored. To
// embed a kustomization into the program, use the pattern all:, or files such as .component-config.yaml will be
// missing.
func New(fsys fs.FS, kustomizationPath string, options Options) (*KustomizeGenerator, error) {
	source, folder, err := newSource(fsys, kustomizationPath, options.Decryptor)
	if err != nil {
		return nil, fmt.Errorf("reading kustomization %s: %w", kustomizationPath, err)
	}
	if options.RootOnly {
		source.bounds = newBounds(fsys == nil)
	}
	loader := &loader{source: source, plain: map[string][]byte{}}
	if err := loader.load(folder, options); err != nil {
		return nil, err
	}
	if err := loader.followReferences(); err != nil {
		return nil, fmt.Errorf("reading kustomization %s: %w", kustomizationPath, err)
	}
	return &KustomizeGenerator{
		name:           kustomizationPath,
		kustomizations: loader.loaded,
		plain:          loader.plain,
		rootOnly:       options.RootOnly,
		fingerprint:    fingerprint(loader.loaded, loader.plain),
	}, nil
}

// WithParameterTransformer returns a generator that transforms the parameters first; see manifests.NewGenerator. The
// receiver does not change.
func (g *KustomizeGenerator) WithParameterTransformer(transformer manifests.ParameterTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithParameterTransformer(transformer)
}

// WithObjectTransformer returns a generator that transforms the objects afterwards; see manifests.NewGenerator. The
// receiver does not change.
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

// Generate renders the templates with the given parameters as data, and builds the kustomization. Which values the
// context must contain depends on the functions that the templates call. All returned objects are unstructured.
func (g *KustomizeGenerator) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	given, err := manifest.Normalize(manifest.ValuesOf(parameters))
	if err != nil {
		return nil, err
	}
	fsys := kustomize.NewMemory()
	for file, content := range g.plain {
		fsys.Add(file, content)
	}
	// An included kustomization gets the data of the including one, over its own defaults.
	given = manifests.MergeMaps(g.kustomizations[0].config.Values, given)
	for i, k := range g.kustomizations {
		data := given
		if i > 0 {
			data = manifests.MergeMaps(k.config.Values, given)
		}
		occasion := &occasion{ctx: ctx, namespace: namespace, name: name, readable: k.readable, remote: map[string]client.Client{}}
		if err := k.render(occasion, data, fsys); err != nil {
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

// render adds the files of the kustomization to the file system, rendering the templates.
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
		// Templates may change their data; the change must not affect other templates.
		text, err := renderer.Render(template, manifests.MergeMaps(nil, data))
		if err != nil {
			return err
		}
		fsys.Add(path.Join(k.folder, name), []byte(text))
	}
	return nil
}

// fingerprint does not include the absolute paths of the folders, because they may change with a restart.
func fingerprint(kustomizations []*kustomization, plain map[string][]byte) string {
	hash := sha256.New()
	add := func(name string, content []byte) {
		fmt.Fprintf(hash, "%q %d\n", name, len(content))
		hash.Write(content)
	}
	root := kustomizations[0].folder
	for _, k := range kustomizations {
		c := k.config
		fmt.Fprintf(hash, "%q %t %q %q %q\n", between(root, k.folder), *c.Templating, *c.TemplateSuffix, *c.LeftTemplateDelimiter, *c.RightTemplateDelimiter)
		for _, name := range slices.Sorted(maps.Keys(k.readable)) {
			add(name, k.readable[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		add(between(root, name), plain[name])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

const (
	configFile = ".component-config.yaml"
	ignoreFile = ".component-ignore"
)

// config is the content of the configuration file of a kustomization, with all defaults applied.
type config struct {
	Templating             *bool    `json:"templating"`
	TemplateSuffix         *string  `json:"templateSuffix"`
	LeftTemplateDelimiter  *string  `json:"leftTemplateDelimiter"`
	RightTemplateDelimiter *string  `json:"rightTemplateDelimiter"`
	IncludedFiles          []string `json:"includedFiles"`
	IncludedKustomizations []string `json:"includedKustomizations"`
	Values                 values   `json:"values"`
}

// values are default values. Integers are decoded as integers.
type values map[string]any

// UnmarshalJSON refuses everything but maps. A null counts as given.
func (v *values) UnmarshalJSON(raw []byte) error {
	if err := utiljson.Unmarshal(raw, (*map[string]any)(v)); err != nil {
		return fmt.Errorf("values is not a map: %w", err)
	}
	if *v == nil {
		*v = values{}
	}
	return nil
}

// readConfig merges the configuration file of a folder, if it exists, over the options.
func readConfig(source *source, folder string, options Options) (config, error) {
	var c config
	raw, err := source.read(path.Join(folder, configFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return config{}, err
	default:
		if err := manifest.CheckSingle(raw); err != nil {
			return config{}, fmt.Errorf("parsing %s: %w", configFile, err)
		}
		if err := yaml.UnmarshalStrict(raw, &c); err != nil {
			return config{}, fmt.Errorf("parsing %s: %w", configFile, err)
		}
	}
	// These settings make sense only with templates.
	asksForTemplates := c.TemplateSuffix != nil || c.LeftTemplateDelimiter != nil || c.RightTemplateDelimiter != nil || c.Values != nil
	c.Templating = cmp.Or(c.Templating, new(!options.DisableTemplating || asksForTemplates))
	c.TemplateSuffix = cmp.Or(c.TemplateSuffix, options.TemplateSuffix, new(""))
	c.LeftTemplateDelimiter = cmp.Or(c.LeftTemplateDelimiter, options.LeftTemplateDelimiter, new(""))
	c.RightTemplateDelimiter = cmp.Or(c.RightTemplateDelimiter, options.RightTemplateDelimiter, new(""))
	return c, nil
}

// readIgnoreRules returns a matcher for the files to be left out.
func readIgnoreRules(source *source, folder string) (gitignore.Matcher, error) {
	raw, err := source.read(path.Join(folder, ignoreFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	return gitignore.NewMatcher(patterns), nil
}

// isIgnored takes a path relative to the folder. Files in an ignored folder are ignored regardless of other rules.
func isIgnored(name string, rules gitignore.Matcher) bool {
	segments := strings.Split(name, "/")
	for i := range segments {
		if isFolder := i+1 < len(segments); rules.Match(segments[:i+1], isFolder) {
			return true
		}
	}
	return false
}

// bounds are the folders that a kustomization may read. Symbolic links in them must not lead out of them.
type bounds struct {
	// roots are absolute and slash-separated.
	roots []string
	// resolve follows the symbolic links of a path.
	resolve func(name string) (string, error)
}

// newBounds returns bounds without folders. Only paths of the operating system are resolved, because links in other
// file systems cannot leave them.
func newBounds(native bool) *bounds {
	b := &bounds{resolve: func(name string) (string, error) { return name, nil }}
	if native {
		b.resolve = func(name string) (string, error) {
			resolved, err := filepath.EvalSymlinks(filepath.FromSlash(name))
			return filepath.ToSlash(resolved), err
		}
	}
	return b
}

// add allows reading a folder.
func (b *bounds) add(folder string) {
	if b != nil && !slices.Contains(b.roots, folder) {
		b.roots = append(b.roots, folder)
	}
}

// check returns kustomize.ErrOutside if a file or folder must not be read, or another error if it cannot tell, for
// instance because the file does not exist.
func (b *bounds) check(name string) error {
	if b == nil {
		return nil
	}
	resolved, err := b.resolve(name)
	if err != nil {
		return err
	}
	for _, root := range b.roots {
		if !contains(root, name) {
			continue
		}
		folder, err := b.resolve(root)
		if err != nil {
			return err
		}
		if contains(folder, resolved) {
			return nil
		}
	}
	if resolved != name {
		return fmt.Errorf("%w: %s is a symbolic link, or below one, and leads to %s", kustomize.ErrOutside, name, resolved)
	}
	return fmt.Errorf("%w: %s", kustomize.ErrOutside, name)
}

// KustomizeGeneratorOptions are Options.
//
// Deprecated: use Options.
//
//nolint:revive // existing operators use this name
type KustomizeGeneratorOptions = Options

// NewKustomizeGenerator is New. The client is ignored.
//
// Deprecated: use New.
func NewKustomizeGenerator(fsys fs.FS, kustomizationPath string, _ client.Client, options Options) (*KustomizeGenerator, error) {
	return New(fsys, kustomizationPath, options)
}

// NewTransformableKustomizeGenerator is New.
//
// Deprecated: use New.
func NewTransformableKustomizeGenerator(fsys fs.FS, kustomizationPath string, _ client.Client, options Options) (manifests.TransformableGenerator, error) {
	generator, err := New(fsys, kustomizationPath, options)
	if err != nil {
		return nil, err
	}
	return manifests.NewGenerator(generator), nil
}

// NewKustomizeGeneratorWithParameterTransformer is New with a parameter transformer.
//
// Deprecated: use New, and WithParameterTransformer of the generator.
func NewKustomizeGeneratorWithParameterTransformer(
	fsys fs.FS, kustomizationPath string, clnt client.Client, options Options, transformer manifests.ParameterTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableKustomizeGenerator(fsys, kustomizationPath, clnt, options)
	if err != nil {
		return nil, err
	}
	return generator.WithParameterTransformer(transformer), nil
}

// NewKustomizeGeneratorWithObjectTransformer is New with an object transformer.
//
// Deprecated: use New, and WithObjectTransformer of the generator.
func NewKustomizeGeneratorWithObjectTransformer(
	fsys fs.FS, kustomizationPath string, clnt client.Client, options Options, transformer manifests.ObjectTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableKustomizeGenerator(fsys, kustomizationPath, clnt, options)
	if err != nil {
		return nil, err
	}
	return generator.WithObjectTransformer(transformer), nil
}
