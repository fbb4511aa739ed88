// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		name = Namespace(t)
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

func TestCountingConfig(t *testing.T) {
	t.Parallel()
	config, requests := CountingConfig(t)
	config.UserAgent = "counting-test"
	c, err := client.New(config, client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	namespace := Namespace(t)
	requests.Reset()

	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}
	if err := c.Create(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "absent"}, configMap); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	got := requests.All()
	// Discovery comes first and is not what this test is about.
	got = got[len(got)-2:]
	want := []Request{
		{
			Method: http.MethodPost, Path: "/api/v1/namespaces/" + namespace + "/configmaps", Query: url.Values{}, UserAgent: "counting-test",
			Status: http.StatusCreated, Version: "v1", Resource: "configmaps", Namespace: namespace,
		}, {
			Method: http.MethodGet, Path: "/api/v1/namespaces/" + namespace + "/configmaps/absent", Query: url.Values{}, UserAgent: "counting-test",
			Status: http.StatusNotFound, Version: "v1", Resource: "configmaps", Namespace: namespace, Name: "absent",
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Request{}, "Sent", "Answered")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if writes := requests.Count(Request.IsWrite); writes != 1 {
		t.Errorf("got %d writes, want 1:\n%s", writes, requests)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	objects := Objects(t, `
---
# nothing but a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
`)
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestScheme(t *testing.T) {
	t.Parallel()
	if _, err := connect(); err != nil {
		t.Fatal(err)
	}
	// A list of each kind of object that the scheme adds to that of client-go shows that server and scheme agree.
	for _, apiVersion := range []string{"apiextensions.k8s.io/v1 CustomResourceDefinition", "apiregistration.k8s.io/v1 APIService"} {
		version, kind, _ := strings.Cut(apiVersion, " ")
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind + "List"}}
		if err := Client(t).List(context.Background(), list); err != nil {
			t.Errorf("listing %s: %v", kind, err)
		}
	}
}
