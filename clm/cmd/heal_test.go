// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// steal gives a ConfigMap to another owner.
func (p *place) steal(name string) {
	p.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	patch := []byte(`{"metadata":{"labels":{"clm.cs.sap.com/owner-id":"other"},"annotations":{"clm.cs.sap.com/owner-id":"other"}}}`)
	if err := p.client.Patch(p.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) state(release string) string {
	p.Helper()
	return p.must("ls", "-o", `jsonpath={.items[?(@.metadata.name=="`+release+`")].status.state}`).stdout
}
