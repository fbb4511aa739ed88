// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/component-operator/runtime/pkg/types"
)

// NewScheme returns a scheme with the built-in types, CustomResourceDefinition, APIService, and the types of the
// builders.
func NewScheme(builders ...types.SchemeBuilder) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("adding built-in types to the scheme: %w", err)
		}
	}
	for _, builder := range builders {
		if err := builder.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("adding types to the scheme: %w", err)
		}
	}
	return scheme, nil
}
