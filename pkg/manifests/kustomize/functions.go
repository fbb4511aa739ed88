// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/gobwas/glob"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/templating"
	"github.com/component-operator/runtime/pkg/generator"
)

// occasion is one rendering of one kustomization. It may contain the context, because it lives no longer.
type occasion struct {
	ctx       context.Context
	namespace string
	name      string
	// readable contains the files that templates can read.
	readable map[string][]byte
	// remote contains the clients for clusters that templates read by kubeconfig.
	remote map[string]client.Client
}

// functions returns the template functions specific to kustomizations. Each reads the context only when it is called,
// because reading it makes the result depend on a cluster. Their results are copies.
func (o *occasion) functions() map[string]any {
	functions := map[string]any{
		"namespace":         func() string { return o.namespace },
		"name":              func() string { return o.name },
		"listFiles":         o.listFiles,
		"existsFile":        o.existsFile,
		"readFile":          o.readFile,
		"component":         o.component,
		"componentDigest":   func() (string, error) { return generator.ComponentDigestFromContext(o.ctx) },
		"componentRevision": func() (int64, error) { return generator.ComponentRevisionFromContext(o.ctx) },
		"kubernetesVersion": o.kubernetesVersion,
		"apiResources":      o.apiResources,
	}
	maps.Copy(functions, o.lookups())
	maps.Copy(functions, templating.SecretFunctions(o.ctx))
	return functions
}

// errNoLocalLookup is the error of localLookup and similar functions if the operator's author has disabled them.
var errNoLocalLookup = errors.New("this operator does not let templates look into its own cluster")

func (o *occasion) lookups() map[string]any {
	target := templating.NewLookup(o.ctx, func() (client.Client, error) { return generator.ClientFromContext(o.ctx) })
	local := templating.NewLookup(o.ctx, func() (client.Client, error) {
		if disabled, err := generating.NoLocalLookup.From(o.ctx); err == nil && disabled {
			return nil, errNoLocalLookup
		}
		return generator.LocalClientFromContext(o.ctx)
	})
	return map[string]any{
		"lookup":          target.One,
		"mustLookup":      target.MustOne,
		"lookupList":      target.List,
		"localLookup":     local.One,
		"mustLocalLookup": local.MustOne,
		"localLookupList": local.List,
		"lookupWithKubeConfig": func(apiVersion, kind, namespace, name, kubeConfig string) (map[string]any, error) {
			return o.elsewhere(kubeConfig).One(apiVersion, kind, namespace, name)
		},
		"mustLookupWithKubeConfig": func(apiVersion, kind, namespace, name, kubeConfig string) (map[string]any, error) {
			return o.elsewhere(kubeConfig).MustOne(apiVersion, kind, namespace, name)
		},
		"lookupListWithKubeConfig": func(apiVersion, kind, namespace, labelSelector, kubeConfig string) ([]any, error) {
			return o.elsewhere(kubeConfig).List(apiVersion, kind, namespace, labelSelector)
		},
	}
}

// elsewhere returns a Lookup for the cluster of a kubeconfig.
func (o *occasion) elsewhere(kubeConfig string) templating.Lookup {
	return templating.NewLookup(o.ctx, func() (client.Client, error) {
		generator.MarkClusterRead(o.ctx)
		if clnt, ok := o.remote[kubeConfig]; ok {
			return clnt, nil
		}
		clnt, err := clients.ConnectOnce(o.ctx, []byte(kubeConfig))
		if err != nil {
			return nil, err
		}
		o.remote[kubeConfig] = clnt
		return clnt, nil
	})
}

// listFiles returns the paths that match a pattern, sorted. One asterisk does not match slashes; two do.
func (o *occasion) listFiles(pattern string) ([]string, error) {
	matcher, err := glob.Compile(pattern, '/')
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	found := []string{}
	for _, name := range slices.Sorted(maps.Keys(o.readable)) {
		if matcher.Match(name) {
			found = append(found, name)
		}
	}
	return found, nil
}

func (o *occasion) existsFile(name string) bool {
	_, ok := o.readable[path.Clean(name)]
	return ok
}

func (o *occasion) readFile(name string) ([]byte, error) {
	content, ok := o.readable[path.Clean(name)]
	if !ok {
		return nil, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(content), nil
}

// component returns a copy of the Go object.
func (o *occasion) component() (any, error) {
	component, err := generator.ComponentFromContext(o.ctx)
	if err != nil {
		return nil, err
	}
	if component == nil {
		return nil, errors.New("the component in the context is nil")
	}
	return component.DeepCopyObject(), nil
}

func (o *occasion) kubernetesVersion() (*version.Info, error) {
	discovery, err := generator.DiscoveryFromContext(o.ctx)
	if err != nil {
		return nil, err
	}
	return new(discovery.Version), nil
}

// apiResources returns the resources of each API version, sorted.
func (o *occasion) apiResources() ([]*metav1.APIResourceList, error) {
	discovery, err := generator.DiscoveryFromContext(o.ctx)
	if err != nil {
		return nil, err
	}
	lists := make([]*metav1.APIResourceList, 0, len(discovery.Resources))
	for _, list := range discovery.Resources {
		lists = append(lists, list.DeepCopy())
	}
	return lists, nil
}
