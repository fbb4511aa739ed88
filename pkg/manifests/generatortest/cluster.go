// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/internal/catalog"
	"github.com/component-operator/runtime/pkg/cluster"
)

// newClient returns a client for a cluster in memory.
func newClient(c Case, scheme *runtime.Scheme) (cluster.Client, error) {
	info, err := catalog.Version(c.KubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("reading KubernetesVersion: %w", err)
	}
	kinds, err := catalog.Kinds(c.APIVersions)
	if err != nil {
		return nil, err
	}
	resources, mapper := catalog.Resources(kinds)
	server := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: resources}, FakedServerVersion: &info}
	objects := make([]client.Object, len(c.Objects))
	for i, object := range c.Objects {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return nil, fmt.Errorf("copying object %q: the copy of a %T is no object", object.GetName(), object)
		}
		objects[i] = copied
	}
	clnt := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
	return cluster.NewClient(clnt, server, nil, &rest.Config{}, nil), nil
}
