// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm makes generators from Helm charts.
//
// Helm's own SDK renders the chart, so the result is the same as with Helm: subcharts with conditions, tags, aliases
// and imported values, library charts, .helmignore, values schemas and all template functions. The parameters of the
// component are the values of the release. Templates see whole numbers in them as integers, as with --set; whole
// numbers from values files, including the chart's own, are floats.
//
// A chart may render to 16 MiB of text. Helm's engine only limits how often a template includes itself; it cannot be
// interrupted, and the size of its output is known only afterwards. So a chart that repeats a text endlessly, or
// renders such a value with tpl, exhausts the memory of the process.
//
// # Release
//
// .Release.Name and .Release.Namespace are the arguments of Generate, .Release.Revision is the revision of the
// component, .Release.Service is an option. .Release.IsUpgrade is true if an earlier revision of the component was
// completely installed (generator.InstalledFromContext), so changing a component whose installation has failed is still
// an installation. .Capabilities and lookup refer to the target cluster. Objects of the crds folders are managed like
// all others; a chart should not contain the same definition in its templates.
//
// Rendered objects are reused until the component, the chart, or the API of the target cluster changes, unless
// templates call lookup or a post-renderer has no fingerprint. Random values and the current time in templates change
// at the same moments; to keep a generated password, for instance, look it up first.
//
// # Annotations
//
// Objects may carry annotations of the reconciler (<reconciler name>/apply-order and so on), except owner-id and
// digest, which the reconciler writes itself. helm.sh/resource-policy: keep becomes delete-policy orphan; other
// values of it are refused.
//
// # Hooks
//
// Hooks are not applied in a special way. They become objects in waves of their own: pre hooks before wave 0, post
// hooks after it. Let w be the helm.sh/hook-weight, an integer between -100 and 100 that defaults to 0:
//
//	helm.sh/hook                       apply-order   purge-order, with hook-succeeded
//	pre-install, pre-upgrade           w-101         -1
//	post-install, post-upgrade         w+101         201
//	both for the same event            w-101         201
//
// The delete policy before-hook-creation, which is the default, becomes update-policy recreate. With hook-succeeded,
// the object is purged when it is ready, at the stated order; a succeeded Job or Pod is purged even if another hook
// fails. hook-failed becomes purge-on-failure: the object is deleted when it has failed, and the component is in state
// Error until its spec is changed.
//
// An install hook has reconcile-policy once, and stays unchanged during upgrades. An upgrade hook is left out during
// the installation, and has reconcile-policy on-object-or-component-change. A hook for both counts as install hook
// during the installation and as upgrade hook afterwards. If the installation takes more than one revision, hooks run
// for each of them.
//
// Hooks for pre-delete and post-delete become deletion hooks (annotation deletion-hook) with apply-order w. They are
// stored in a Secret beside the component, applied before the first dependent is deleted or after the last one is gone,
// and removed when all of them are ready. Delete policies have no effect on them. A failed one stays and blocks the
// deletion of the component until a user deletes it, upon which it runs again, or sets the annotation
// skip-deletion-hooks on the component. An object with both kinds of hooks is deleted and created again in between.
//
// Hooks for pre-rollback, post-rollback, test and test-success are for releases of clm, not for components. They are
// left out unless the context asks for them (generator.Surroundings). They then become release hooks (annotation
// release-hook, with the value test for both kinds of tests) with the orders of the table (those of post hooks for
// tests), reconcile-policy on-object-or-component-change, and delete policies as above. A hook for both sides of a
// rollback runs before it.
//
// Objects with the hook crd-install, which was meant for Helm 2, are left out: Helm 3 leaves out objects with unknown
// hooks, and charts for both versions contain the same definitions in the crds folder. Other unknown hooks are refused.
// Hook annotations in crds folders have no effect.
//
// An object is refused if one of its annotations of the reconciler has another value than these rules would set.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// HelmGenerator generates the objects of a Helm chart. It is safe for concurrent use.
//
//nolint:revive // existing operators use this name
type HelmGenerator struct {
	chart   *helm.Chart
	options Options
}

var (
	_ manifests.TransformableGenerator = &HelmGenerator{}
	_ manifests.Pure                   = &HelmGenerator{}
	_ generator.Versioned              = &HelmGenerator{}
)

// fingerprintVersion must change whenever this package or the Helm SDK renders other objects from the same chart than
// before.
const fingerprintVersion = "helm/2"

// New returns a generator for the chart at chartPath, which is a folder or a packaged chart (.tgz). It reads the chart
// once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of the path is ignored. To
// embed a chart into the program, use the pattern all:, or files such as _helpers.tpl will be missing.
func New(fsys fs.FS, chartPath string, options Options) (*HelmGenerator, error) {
	chart, err := helm.Load(fsys, chartPath)
	if err != nil {
		return nil, err
	}
	if err := helm.AssignStrings(map[string]any{}, options.SetString); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return &HelmGenerator{chart: chart, options: options}, nil
}

// WithParameterTransformer returns a generator that transforms the parameters first; see manifests.NewGenerator. The
// receiver does not change.
func (g *HelmGenerator) WithParameterTransformer(transformer manifests.ParameterTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithParameterTransformer(transformer)
}

// WithObjectTransformer returns a generator that transforms the objects afterwards; see manifests.NewGenerator. The
// receiver does not change.
func (g *HelmGenerator) WithObjectTransformer(transformer manifests.ObjectTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithObjectTransformer(transformer)
}

// ChartInfo is the metadata of a chart.
type ChartInfo struct {
	Name    string
	Version string
	// AppVersion is the version of the chart's application; empty if the chart has none.
	AppVersion string
}

// Chart returns the metadata of the chart.
func (g *HelmGenerator) Chart() ChartInfo {
	return ChartInfo{Name: g.chart.Name(), Version: g.chart.Version(), AppVersion: g.chart.AppVersion()}
}

// Version returns the version of the chart.
func (g *HelmGenerator) Version() string { return g.chart.Version() }

// Fingerprint identifies the content of the chart and the options. It is empty if the post-renderer is not pure.
func (g *HelmGenerator) Fingerprint() string {
	options := g.options.fingerprint()
	if options == "" {
		return ""
	}
	return fingerprintVersion + " " + g.chart.Fingerprint() + " " + options
}

// Generate renders the chart with the given parameters as values. The context must contain the reconciler name, the
// client, the component revision and the installation state. All returned objects are unstructured.
func (g *HelmGenerator) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	reconcilerName, err := generator.ReconcilerNameFromContext(ctx)
	if err != nil {
		return nil, err
	}
	release, err := g.release(ctx, namespace, name, parameters)
	if err != nil {
		return nil, err
	}
	rendered, err := g.chart.Render(ctx, release)
	if err != nil {
		return nil, err
	}

	mapper := gitops.HelmMapper{
		Prefix: reconcilerName + "/", Revision: release.Revision, Installed: release.Upgrade, ReleaseHooks: generator.ReleaseHooksFromContext(ctx),
	}
	objects := make([]client.Object, 0, len(rendered))
	for _, object := range rendered {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return nil, fmt.Errorf("rendering chart %s: %s (%s): %w", g.chart.Name(), types.IDOf(object), object.Source, err)
		}
		for i, missing := range variants {
			each := object.Unstructured
			if i < len(variants)-1 {
				each = each.DeepCopy()
			}
			if len(missing) > 0 {
				each.SetAnnotations(labels.Merge(each.GetAnnotations(), missing))
			}
			helm.ReportOrigin(ctx, each, object.File())
			objects = append(objects, each)
		}
	}
	return objects, nil
}

// release returns the release for the templates.
func (g *HelmGenerator) release(ctx context.Context, namespace string, name string, parameters types.Unstructurable) (helm.Release, error) {
	revision, err := generator.ComponentRevisionFromContext(ctx)
	if err != nil {
		return helm.Release{}, err
	}
	installed, err := generator.InstalledFromContext(ctx)
	if err != nil {
		return helm.Release{}, err
	}
	discovery, err := generator.DiscoveryFromContext(ctx)
	if err != nil {
		return helm.Release{}, err
	}
	values := manifest.ValuesOf(parameters)
	if len(g.options.SetString) > 0 {
		values = manifests.MergeMaps(values, nil) // a copy
		if err := helm.AssignStrings(values, g.options.SetString); err != nil {
			return helm.Release{}, fmt.Errorf("rendering chart %s: option SetString: %w", g.chart.Name(), err)
		}
	}
	return helm.Release{
		Name:      name,
		Namespace: namespace,
		Revision:  revision,
		// A component is not an upgrade during revision 1. Treating it as one once it is installed would run upgrade
		// hooks without any change of the component.
		Upgrade:      installed && revision > 1,
		Values:       values,
		Capabilities: capabilitiesOf(discovery),
		Service:      g.options.ReleaseService,
		PostRenderer: g.options.PostRenderer,
		// Getting the client from the context marks the result as dependent on the cluster.
		Client: func() (client.Client, error) { return generator.ClientFromContext(ctx) },
	}, nil
}

// capabilitiesOf returns, like Helm, all API versions and all kinds with their API version.
func capabilitiesOf(discovery *cluster.Discovery) helm.Capabilities {
	capabilities := helm.Capabilities{
		KubeVersion: helm.KubeVersion{Version: discovery.Version.GitVersion, Major: discovery.Version.Major, Minor: discovery.Version.Minor},
		APIVersions: slices.Clone(discovery.GroupVersions),
	}
	for _, list := range discovery.Resources {
		capabilities.APIVersions = append(capabilities.APIVersions, kindsOf(list)...)
	}
	return capabilities
}

func kindsOf(list *metav1.APIResourceList) []string {
	seen := map[string]bool{}
	var kinds []string
	for _, resource := range list.APIResources {
		if !seen[resource.Kind] {
			seen[resource.Kind] = true
			kinds = append(kinds, list.GroupVersion+"/"+resource.Kind)
		}
	}
	return kinds
}

// Options change how a chart is rendered. The zero value renders it as Helm does.
type Options struct {
	// ReleaseService is the value of .Release.Service. Defaults to "Helm".
	ReleaseService string
	// SetString are texts that win over the parameters, in the syntax of Helm's flag --set-string: "image.tag=1.2.3".
	// Defaults to none.
	SetString []string
	// PostRenderer changes the rendered objects. If it does not implement manifests.Pure, the generator is not pure
	// either: the chart is then rendered in each pass. Defaults to none.
	PostRenderer PostRenderer
}

// PostRenderer changes the rendered objects before Helm's annotations are interpreted. Post-renderers that were written
// for Helm work. Unlike with Helm, they also get hooks and the objects of the crds folders.
type PostRenderer interface {
	// Run gets all objects, in the order of rendering, as a stream of YAML documents, each of which begins with the
	// comment "# Source: " and the name of its template. It returns the objects to use instead, possibly in the same
	// buffer; an empty buffer means no objects. It may be called concurrently.
	Run(renderedManifests *bytes.Buffer) (modifiedManifests *bytes.Buffer, err error)
}

// fingerprint identifies the options; it is empty if they are not pure.
func (o Options) fingerprint() string {
	identity := append([]string{o.ReleaseService}, o.SetString...)
	if o.PostRenderer != nil {
		pure, ok := o.PostRenderer.(manifests.Pure)
		if !ok || pure.Fingerprint() == "" {
			return ""
		}
		identity = append(identity, pure.Fingerprint())
	}
	result, err := manifest.Digest(identity)
	if err != nil {
		return ""
	}
	return result
}

// NewHelmGenerator is New without options. The client is ignored.
//
// Deprecated: use New.
func NewHelmGenerator(fsys fs.FS, chartPath string, _ client.Client) (*HelmGenerator, error) {
	return New(fsys, chartPath, Options{})
}

// NewTransformableHelmGenerator is NewHelmGenerator.
//
// Deprecated: use New.
func NewTransformableHelmGenerator(fsys fs.FS, chartPath string, _ client.Client) (manifests.TransformableGenerator, error) {
	generator, err := New(fsys, chartPath, Options{})
	if err != nil {
		return nil, err
	}
	return manifests.NewGenerator(generator), nil
}

// NewHelmGeneratorWithParameterTransformer is NewHelmGenerator with a parameter transformer.
//
// Deprecated: use New, and WithParameterTransformer of the generator.
func NewHelmGeneratorWithParameterTransformer(
	fsys fs.FS, chartPath string, clnt client.Client, transformer manifests.ParameterTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableHelmGenerator(fsys, chartPath, clnt)
	if err != nil {
		return nil, err
	}
	return generator.WithParameterTransformer(transformer), nil
}

// NewHelmGeneratorWithObjectTransformer is NewHelmGenerator with an object transformer.
//
// Deprecated: use New, and WithObjectTransformer of the generator.
func NewHelmGeneratorWithObjectTransformer(
	fsys fs.FS, chartPath string, clnt client.Client, transformer manifests.ObjectTransformer,
) (manifests.TransformableGenerator, error) {
	generator, err := NewTransformableHelmGenerator(fsys, chartPath, clnt)
	if err != nil {
		return nil, err
	}
	return generator.WithObjectTransformer(transformer), nil
}
