// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
)

const (
	releaseName      = "web"
	releaseNamespace = "shop"
)

var (
	kubeVersion = chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	// moreAPIVersions are served in addition to those that Helm assumes without a cluster.
	moreAPIVersions = chartutil.VersionSet{"example.io/v1", "example.io/v1/Thing"}
)

// object is the content of an object, or of whatever else is among the rendered documents.
type object = map[string]any

// renderWithHelm does what "helm template --include-crds" does.
func renderWithHelm(folder string, s sample) ([]object, error) {
	values, err := chartutil.ReadValues([]byte(s.values))
	if err != nil {
		return nil, err
	}
	return templateWithHelm(folder, values, s.upgrade)
}

func templateWithHelm(folder string, values map[string]any, upgrade bool) ([]object, error) {
	loaded, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	if err := checkInstallable(loaded); err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.DryRun, install.ClientOnly, install.Replace, install.IncludeCRDs = true, true, true, true
	install.ReleaseName, install.Namespace, install.IsUpgrade = releaseName, releaseNamespace, upgrade
	install.KubeVersion, install.APIVersions = &kubeVersion, moreAPIVersions
	release, err := install.Run(loaded, values)
	if err != nil {
		return nil, err
	}
	texts := []string{release.Manifest}
	for _, hook := range release.Hooks {
		texts = append(texts, hook.Manifest+"\n")
	}
	var objects []object
	for _, text := range texts {
		found, err := decode(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// checkInstallable does what the command does before it calls the action.
func checkInstallable(loaded *chart.Chart) error {
	if kind := loaded.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("%s charts are not installable", kind)
	}
	if declared := loaded.Metadata.Dependencies; declared != nil {
		return action.CheckDependencies(loaded, declared)
	}
	return nil
}

// decode reads objects as kubectl does, lists being taken apart.
func decode(text string) ([]object, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []object
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(raw) == 0 {
			continue
		}
		// Contrary to the decoder, this knows integers.
		var content object
		if err := utiljson.Unmarshal(raw, &content); err != nil {
			return nil, err
		}
		found, err := flatten(content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
}

func flatten(content object) ([]object, error) {
	if len(content) == 0 {
		return nil, nil
	}
	decoded := &unstructured.Unstructured{Object: content}
	if !decoded.IsList() {
		dropNulls(content)
		return []object{content}, nil
	}
	list, err := decoded.ToList()
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, item := range list.Items {
		if item.GetKind() == "" {
			item.SetAPIVersion(list.GetAPIVersion())
			item.SetKind(strings.TrimSuffix(list.GetKind(), "List"))
		}
		found, err := flatten(item.Object)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// dropNulls removes metadata that are null, which mean nothing and which the runtime leaves out.
func dropNulls(content object) {
	if metadata, ok := content["metadata"].(object); ok {
		maps.DeleteFunc(metadata, func(_ string, value any) bool { return value == nil })
	}
}

// render renders with the runtime.
func render(ctx context.Context, fsys fs.FS, folder string, release helm.Release) ([]object, error) {
	chart, err := helm.Load(fsys, folder)
	if err != nil {
		return nil, err
	}
	rendered, err := chart.Render(ctx, release)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, found := range rendered {
		objects = append(objects, found.Object)
	}
	return objects, nil
}

// releaseWith returns what corresponds to renderWithHelm.
func releaseWith(values map[string]any, upgrade bool) helm.Release {
	return helm.Release{
		Name:      releaseName,
		Namespace: releaseNamespace,
		Revision:  1,
		Upgrade:   upgrade,
		Values:    values,
		Capabilities: helm.Capabilities{
			KubeVersion: kubeVersion,
			APIVersions: slices.Concat(chartutil.DefaultVersionSet, moreAPIVersions),
		},
		// It is an empty cluster, whereas Helm has none.
		Client: func() (client.Client, error) { return fake.NewClientBuilder().Build(), nil },
	}
}

// sorted brings objects into an order that depends on nothing but them.
func sorted(objects []object) []object {
	return slices.SortedStableFunc(slices.Values(objects), func(a, b object) int {
		return strings.Compare(title(a)+fmt.Sprint(a), title(b)+fmt.Sprint(b))
	})
}

func title(content object) string {
	decoded := unstructured.Unstructured{Object: content}
	return decoded.GetKind() + " " + decoded.GetName()
}

// printed returns objects as text.
func printed(t *testing.T, objects []object) string {
	t.Helper()
	var texts []string
	for _, content := range objects {
		text, err := sigsyaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n")
}
