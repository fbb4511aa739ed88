// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
)

// notesSuffix marks the file that Helm prints after an installation.
const notesSuffix = "NOTES.txt"

// Release has what a chart is rendered with.
type Release struct {
	// Name and Namespace become .Release.Name and .Release.Namespace.
	Name      string
	Namespace string
	// Revision becomes .Release.Revision.
	Revision int64
	// Upgrade becomes .Release.IsUpgrade, and its opposite .Release.IsInstall.
	Upgrade bool
	// Values override the defaults of the chart. They are not changed.
	Values map[string]any
	// Capabilities become .Capabilities.
	Capabilities Capabilities
	// Service becomes .Release.Service. Defaults to "Helm".
	Service string
	// PostRender, if not nil, gets all objects as a stream of YAML documents, and returns the objects to use instead.
	PostRender func(rendered *bytes.Buffer) (*bytes.Buffer, error)
	// Client is called when a template looks up an object for the first time. It must not be nil.
	Client func() (client.Client, error)
}

// Capabilities describe the API server to charts.
type Capabilities struct {
	// Version is the version of the API server, in the form v1.2.3.
	Version string
	// Major and Minor are parts of the version. Some vendors append a "+".
	Major string
	Minor string
	// APIVersions are the served API versions and types, in the form apps/v1 and apps/v1/Deployment.
	APIVersions []string
}

// Object is a rendered object.
type Object struct {
	*unstructured.Unstructured
	// Source is the origin of the object, for messages.
	Source string
	// Definition marks objects of crds folders.
	Definition bool
}

// File returns the name of the object's file, beginning with that of the chart.
func (o Object) File() string {
	file, _, _ := strings.Cut(o.Source, documentInSource)
	return file
}

// Render returns the objects of the chart for a release: first those of the crds folders, then all others,
// by the name of their template file and the position therein. The objects of the main chart's crds folder
// come before those of its dependencies; of several equal ones, the first counts. A post-renderer
// may change all of that.
//
// The context is used for looking up objects; rendering itself cannot be interrupted.
func (c *Chart) Render(ctx context.Context, release Release) ([]Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := c.render(ctx, release)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", c.Name(), err)
	}
	return objects, nil
}

func (c *Chart) render(ctx context.Context, release Release) ([]Object, error) {
	parsed := instance(c.parsed)
	if required := parsed.Metadata.KubeVersion; required != "" && !chartutil.IsCompatibleRange(required, release.Capabilities.Version) {
		return nil, fmt.Errorf("it requires Kubernetes %s, which version %s does not satisfy", required, release.Capabilities.Version)
	}
	values, err := renderValues(parsed, release)
	if err != nil {
		return nil, err
	}
	// Templates do not see the definitions.
	var files map[string]string
	var objects []Object
	work := []func() error{
		func() (err error) {
			files, err = newRendering(parsed, values).render(ctx, release.Client)
			return located(err)
		},
		func() (err error) { objects, err = definitions(parsed); return err },
	}
	if err := concurrent.Each(len(work), work, func(_ int, do func() error) error { return do() }); err != nil {
		return nil, err
	}
	reportNotes(ctx, files[path.Join(parsed.Name(), "templates", notesSuffix)])
	var rendered []document
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, notesSuffix) {
			rendered = append(rendered, documentsOf(name, []byte(files[name]))...)
		}
	}
	found, err := parseDocuments(rendered)
	if err != nil {
		return nil, err
	}
	objects = append(objects, found...)
	if release.PostRender == nil {
		return objects, nil
	}
	return postRender(objects, release.PostRender)
}

// renderValues also removes the dependencies that are disabled from the chart.
func renderValues(parsed *chart.Chart, release Release) (chartutil.Values, error) {
	given, err := manifest.Normalize(release.Values)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(parsed, given); err != nil {
		return nil, readable(err)
	}
	options := chartutil.ReleaseOptions{
		Name:      release.Name,
		Namespace: release.Namespace,
		Revision:  int(min(release.Revision, math.MaxInt)),
		IsInstall: !release.Upgrade,
		IsUpgrade: release.Upgrade,
	}
	capabilities := &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{
			Version: release.Capabilities.Version,
			Major:   release.Capabilities.Major,
			Minor:   release.Capabilities.Minor,
		},
		APIVersions: release.Capabilities.APIVersions,
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
	rendered, err := chartutil.ToRenderValues(parsed, given, options, capabilities)
	if err != nil {
		return nil, readable(err)
	}
	if about, ok := rendered["Release"].(map[string]any); ok && release.Service != "" {
		about["Service"] = release.Service
	}
	return rendered, nil
}

// identity identifies an object, whatever its content.
type identity struct{ group, kind, namespace, name string }

func identityOf(object Object) identity {
	gvk := object.GroupVersionKind()
	return identity{group: gvk.Group, kind: gvk.Kind, namespace: object.GetNamespace(), name: object.GetName()}
}

// definitions returns the objects of the crds folders of the chart and its remaining dependencies. The same
// definition is found several times if a dependency is used under several names.
func definitions(parsed *chart.Chart) ([]Object, error) {
	var all []document
	for _, file := range parsed.CRDObjects() {
		all = append(all, documentsOf(file.Filename, file.File.Data)...)
	}
	found, err := parseDocuments(all)
	if err != nil {
		return nil, err
	}
	seen := map[identity]bool{}
	var objects []Object
	for _, object := range found {
		if !seen[identityOf(object)] {
			seen[identityOf(object)] = true
			object.Definition = true
			objects = append(objects, object)
		}
	}
	return objects, nil
}
