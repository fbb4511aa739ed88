// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"io/fs"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helm"
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
)

// fingerprintVersion must change whenever this package or the Helm SDK begins to render other objects from
// the same chart.
const fingerprintVersion = "helm/2"

// New returns a generator for the chart at chartPath, which is a folder or a packaged chart (.tgz). It reads the chart
// once. If fsys is nil, the path is one of the operating system; otherwise a leading slash of the path is ignored. To
// embed a chart into the program, use the pattern all:, or files such as _helpers.tpl are missing.
func New(fsys fs.FS, chartPath string, options Options) (*HelmGenerator, error) {
	chart, err := helm.Load(fsys, chartPath)
	if err != nil {
		return nil, err
	}
	return &HelmGenerator{chart: chart, options: options}, nil
}

// WithParameterTransformer returns a generator that transforms the parameters first; see manifests.NewGenerator. This
// one does not change.
func (g *HelmGenerator) WithParameterTransformer(transformer manifests.ParameterTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithParameterTransformer(transformer)
}

// WithObjectTransformer returns a generator that transforms the objects afterwards; see manifests.NewGenerator. This
// one does not change.
func (g *HelmGenerator) WithObjectTransformer(transformer manifests.ObjectTransformer) manifests.TransformableGenerator {
	return manifests.NewGenerator(g).WithObjectTransformer(transformer)
}

// ChartInfo is the metadata of a chart.
type ChartInfo struct {
	Name    string
	Version string
	// AppVersion is the version of the chart's application; empty if the chart does not give it.
	AppVersion string
}

// Chart returns the metadata of the chart.
func (g *HelmGenerator) Chart() ChartInfo {
	return ChartInfo{Name: g.chart.Name(), Version: g.chart.Version(), AppVersion: g.chart.AppVersion()}
}

// Fingerprint identifies the content of the chart and the options. It is empty if the post-renderer is not pure.
func (g *HelmGenerator) Fingerprint() string {
	options := g.options.fingerprint()
	if options == "" {
		return ""
	}
	return fingerprintVersion + " " + g.chart.Fingerprint() + " " + options
}

// Generate renders the chart with the given parameters as values. The context must have the reconciler
// name, the client, the component revision and the installation state. All returned objects are unstructured.
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
			annotate(each, missing)
			helm.ReportOrigin(ctx, each, object.File())
			objects = append(objects, each)
		}
	}
	return objects, nil
}

// annotate adds annotations to an object.
func annotate(object *unstructured.Unstructured, missing map[string]string) {
	if len(missing) == 0 {
		return
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, missing)
	object.SetAnnotations(annotations)
}

// release returns the release that templates see.
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
	return helm.Release{
		Name:      name,
		Namespace: namespace,
		Revision:  revision,
		// During revision 1, the component was not installed before. Calling it an upgrade as soon as it is installed
		// would run upgrade hooks without any change of the component.
		Upgrade:      installed && revision > 1,
		Values:       valuesOf(parameters),
		Capabilities: capabilitiesOf(discovery),
		Service:      g.options.ReleaseService,
		PostRender:   g.options.postRender(),
		// Taking the client from the context marks the result as dependent on the cluster.
		Client: func() (client.Client, error) { return generator.ClientFromContext(ctx) },
	}, nil
}

func valuesOf(parameters types.Unstructurable) map[string]any {
	if parameters == nil {
		return nil
	}
	return parameters.ToUnstructured()
}

// capabilitiesOf lists, as Helm does, the API versions and, per API version, the kinds.
func capabilitiesOf(discovery *cluster.Discovery) helm.Capabilities {
	capabilities := helm.Capabilities{
		Version:     discovery.Version.GitVersion,
		Major:       discovery.Version.Major,
		Minor:       discovery.Version.Minor,
		APIVersions: append([]string(nil), discovery.GroupVersions...),
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
