// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// Code returns the contents of a generator that is written in Go: no files, and the rights for the kinds that the
// scaffolded code renders.
func Code(ctx context.Context, request Request) (*Contents, error) {
	contents := &Contents{}
	rendered := generator.Func(func(_ context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		return []client.Object{
			&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta},
			&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta},
		}, nil
	})
	return contents, contents.AddRights(ctx, Rendered{Generator: rendered, OperatorName: request.OperatorName})
}
