// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStatusSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	original := &corev1.Pod{Status: corev1.PodStatus{ObservedGeneration: 1<<62 + 1, Message: "kept"}}
	status, err := StatusOf(original)
	if err != nil {
		t.Fatal(err)
	}
	restored := &corev1.Pod{Status: corev1.PodStatus{Reason: "replaced"}}
	clnt := &Client{ClearStatus: func(object client.Object) { object.(*corev1.Pod).Status = corev1.PodStatus{} }}
	if err := clnt.setStatus(restored, status); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(original.Status, restored.Status); difference != "" {
		t.Errorf("status (-want +got):\n%s", difference)
	}
}
