// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/cluster"
)

// DefaultKubernetesVersion is the Kubernetes version of the client libraries.
const DefaultKubernetesVersion = "v1.37.0"

// Offline returns the discovery information of a cluster of the given version that serves the given API versions in
// addition to those of Kubernetes. The version may lack the "v" and the patch number, and defaults to
// DefaultKubernetesVersion; suffixes are ignored. API versions have the form group/version or group/version/Kind.
func Offline(kubernetesVersion string, apiVersions []string) (*cluster.Discovery, error) {
	if kubernetesVersion == "" {
		kubernetesVersion = DefaultKubernetesVersion
	}
	parsed, err := utilversion.ParseGeneric(kubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("invalid Kubernetes version %q; must be a version such as 1.36 or v1.36.3", kubernetesVersion)
	}
	result := &cluster.Discovery{}
	if result.Version, err = rights.Version(fmt.Sprintf("v%d.%d.%d", parsed.Major(), parsed.Minor(), parsed.Patch())); err != nil {
		return nil, fmt.Errorf("reading the version of Kubernetes: %w", err)
	}
	kinds, err := rights.Kinds(apiVersions)
	if err != nil {
		return nil, err
	}
	result.Resources, _ = rights.Resources(kinds)
	for _, list := range result.Resources {
		result.GroupVersions = append(result.GroupVersions, list.GroupVersion)
	}
	if result.Digest, err = manifest.Digest(result); err != nil {
		return nil, err
	}
	return result, nil
}

// noCluster returns a client for a cluster without types, so that lookups find nothing.
func noCluster() (cluster.Client, error) {
	config := &rest.Config{}
	clnt, err := client.New(config, client.Options{HTTPClient: &http.Client{Transport: unreachable{}}, Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		return nil, fmt.Errorf("preparing to work without a cluster: %w", err)
	}
	return cluster.NewClient(clnt, nil, nil, config, &http.Client{Transport: unreachable{}}), nil
}

// unreachable is a transport without a network.
type unreachable struct{}

func (unreachable) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("there is no cluster to read %s from", request.URL.Path)
}
