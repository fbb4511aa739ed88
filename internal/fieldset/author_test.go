// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/fieldset"
)

func TestIsCopy(t *testing.T) {
	t.Parallel()
	by := func(manager, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource}
	}
	controlled := []metav1.OwnerReference{{Kind: "Service", Name: "a", Controller: new(true)}}
	for _, tc := range []struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		owners  []metav1.OwnerReference
		want    bool
	}{
		{"written by us alone", []metav1.ManagedFieldsEntry{by("us", "")}, nil, false},
		{"written by others as well", []metav1.ManagedFieldsEntry{by("them", ""), by("us", "")}, nil, false},
		{"written by us, and controlled since", []metav1.ManagedFieldsEntry{by("us", "")}, controlled, false},
		{"written by others", []metav1.ManagedFieldsEntry{by("kubectl-create", "")}, nil, true},
		{"made by a controller", []metav1.ManagedFieldsEntry{by("endpointslice-controller", "")}, controlled, true},
		{"a status proves nothing", []metav1.ManagedFieldsEntry{by("them", ""), by("us", "status")}, nil, true},
		{"our update is too old to be told", []metav1.ManagedFieldsEntry{by("ancient-changes", ""), by("them", "")}, nil, false},
		{"too old to be told, and controlled", []metav1.ManagedFieldsEntry{by("ancient-changes", ""), by("them", "")}, controlled, true},
		{"the server does not tell", nil, nil, false},
		{"the server does not tell, and it is controlled", nil, controlled, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.entries, OwnerReferences: tc.owners}}
			if got := fieldset.IsCopy(object, "us"); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
