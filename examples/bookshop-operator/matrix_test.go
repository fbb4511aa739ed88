// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests/generatortest"
)

// TestMatrix compares the resources of both generations of the shop, with each feature, with golden files.
func TestMatrix(t *testing.T) {
	t.Parallel()
	reachable := []client.Object{&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"},
		Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: "shop.example.org"}}}},
	}}
	generatortest.Matrix{
		Generate: bookshop, ReconcilerName: "bookshop.example.io", Versions: []string{"1.4.2", "2.0.0"},
		Cases: func(version string) []generatortest.Case {
			return []generatortest.Case{
				{Name: "plain", Objects: reachable, Parameters: &BookshopSpec{Version: version, Replicas: 2}},
				{Name: "cache", Objects: reachable, Parameters: &BookshopSpec{Version: version, Replicas: 2, Cache: true}},
				{Name: "tracing", Objects: reachable, Parameters: &BookshopSpec{Version: version, Replicas: 2, Tracing: "traces.example.org"}},
			}
		},
	}.Run(t)
}
