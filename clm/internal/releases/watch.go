// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"

	"github.com/component-operator/runtime/internal/apiserver"
)

// Watch calls a function once when the record of a release is watched, whether there is one or not, and then whenever
// it was created, written or removed, until the context ends, which is no error. The function must not block.
func (s *Store) Watch(ctx context.Context, namespace, name string, changed func()) error {
	if err := ValidateName(name); err != nil {
		return err
	}
	objects, err := metadata.NewForConfigAndClient(metadata.ConfigFor(s.options.Client.Config()), s.options.Client.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	secrets := objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	named := apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, prefix+name).String()}
	err = apiserver.Watch(ctx, apiserver.ListWatch(secrets, named), func(apiserver.Change) error { changed(); return nil })
	if err != nil {
		return fmt.Errorf("watching Secret %s/%s: %w", namespace, prefix+name, err)
	}
	return nil
}
