// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	own := errors.New("a sandbox of its own")
	missing := t.TempDir() + "/missing"
	for _, test := range []struct {
		reason      string
		environment map[string]string
		want        string
	}{
		{
			reason: "nothing is said: a sandbox of its own",
			want:   own.Error(),
		}, {
			reason:      "a bare KUBECONFIG may be somebody's production",
			environment: map[string]string{"KUBECONFIG": missing},
			want:        own.Error(),
		}, {
			reason:      "0 is as good as nothing",
			environment: map[string]string{existingVariable: "0"},
			want:        own.Error(),
		}, {
			reason:      "a sandbox that is given is used, and not replaced if it cannot be reached",
			environment: map[string]string{sandboxVariable: missing},
			want:        "reading the kubeconfig " + missing,
		}, {
			reason:      "a typo must not start a sandbox when an existing cluster was meant",
			environment: map[string]string{existingVariable: "true"},
			want:        `TEST_USE_EXISTING_CLUSTER="true": must be 0 or 1`,
		}, {
			reason:      "two clusters are asked for",
			environment: map[string]string{existingVariable: "1", sandboxVariable: missing},
			want:        "cannot be used together",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			getenv := func(name string) string { return test.environment[name] }
			_, err := choose(getenv, func() (*cluster, error) { return nil, own })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

func TestNamespaceIsUniqueAndReady(t *testing.T) {
	t.Parallel()
	c := Client(t)
	var name string
	t.Run("a part with blanks, UPPER case and a name that is far too long for a namespace", func(t *testing.T) {
		name = CreateNamespace(t, true)
		if problems := validation.IsDNS1123Label(name); problems != nil {
			t.Errorf("%q: %v", name, problems)
		}
		if other := Namespace(t); other == name {
			t.Errorf("both are named %q", name)
		}
		pod := Object(t, `
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec: {containers: [{name: demo, image: demo}]}
`)
		pod.SetNamespace(name)
		if err := c.Create(t.Context(), pod); err != nil {
			t.Errorf("creating a pod at once: %v", err)
		}
	})
	namespace := &corev1.Namespace{}
	err := c.Get(t.Context(), client.ObjectKey{Name: name}, namespace)
	if !apierrors.IsNotFound(err) && namespace.DeletionTimestamp == nil {
		t.Errorf("the namespace of a test that has ended is not being deleted (%v)", err)
	}
}
