// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/pkg/cluster"
)

// KubernetesVersion is the version of a cluster whose version does not matter.
const KubernetesVersion = "v1.36.0"

// OfflineOptions describe the cluster.
type OfflineOptions struct {
	// KubernetesVersion defaults to KubernetesVersion.
	KubernetesVersion string
	// APIVersions are served in addition to the stable ones of Kubernetes, as "group/version" or "group/version/Kind";
	// the kinds are namespaced.
	APIVersions []string
	// Scheme has the types of the client. Required.
	Scheme *runtime.Scheme
	// Objects are the objects of the cluster, which are copied. Defaults to none.
	Objects []client.Object
}

// NewOfflineClient returns a client for a cluster in memory.
func NewOfflineClient(options OfflineOptions) (cluster.Client, error) {
	version := options.KubernetesVersion
	if version == "" {
		version = KubernetesVersion
	}
	info, err := Version(version)
	if err != nil {
		return nil, fmt.Errorf("reading KubernetesVersion: %w", err)
	}
	kinds, err := Kinds(options.APIVersions)
	if err != nil {
		return nil, err
	}
	resources, mapper := Resources(kinds)
	server := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: resources}, FakedServerVersion: &info}
	objects := make([]client.Object, len(options.Objects))
	for i, object := range options.Objects {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return nil, fmt.Errorf("copying object %q: the copy of a %T is not an object", object.GetName(), object)
		}
		objects[i] = copied
	}
	clnt := fake.NewClientBuilder().WithScheme(options.Scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
	return cluster.NewClient(clnt, server, nil, &rest.Config{}, nil), nil
}
