// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestGreeting runs the operator until a greeting is ready, changed, and deleted.
func TestGreeting(t *testing.T) {
	t.Parallel()
	clnt := testenv.Client(t)
	createDefinition(t, clnt)
	namespace := testenv.Namespace(t)
	startOperator(t)
	if err := addToScheme(clnt.Scheme()); err != nil {
		t.Fatal(err)
	}

	greeting := &Greeting{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "world"},
		Spec:       GreetingSpec{Message: "hello"},
	}
	key := client.ObjectKeyFromObject(greeting)
	if err := clnt.Create(t.Context(), greeting); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, clnt, key, "hello")

	// A greeting does not get what somebody else has, whatever its name is.
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}, Data: map[string]string{"mine": "1"}}
	thief := &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
	for _, object := range []client.Object{theirs, thief} {
		if err := clnt.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, func() (bool, string) {
		err := clnt.Get(t.Context(), client.ObjectKeyFromObject(thief), thief)
		return err == nil && strings.Contains(fmt.Sprint(thief.Status), "exists already and has no owner"), fmt.Sprintf("%v %v", err, thief.Status)
	})
	if err := clnt.Delete(t.Context(), thief); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		return clnt.Get(t.Context(), client.ObjectKeyFromObject(thief), thief) != nil, "the greeting is still there"
	})
	if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || theirs.Data["mine"] != "1" || len(theirs.Data) != 1 {
		t.Errorf("want the ConfigMap of somebody else to stay as it is, got %v, %v", theirs.Data, err)
	}

	greeting.Spec.Message = "good night"
	if err := clnt.Patch(t.Context(), greeting, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"message":"good night"}}`))); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, clnt, key, "good night")

	if err := clnt.Delete(t.Context(), greeting); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		return client.IgnoreNotFound(clnt.Get(t.Context(), key, &Greeting{})) == nil &&
			clnt.Get(t.Context(), key, &Greeting{}) != nil, "the greeting is still there"
	})
	if err := clnt.Get(t.Context(), key, &corev1.ConfigMap{}); err == nil {
		t.Error("the greeting is gone, but its ConfigMap is not")
	}
}

// createDefinition creates the type, and removes it when the test ends.
func createDefinition(t *testing.T, clnt client.Client) {
	t.Helper()
	content, err := os.ReadFile("crds/hello.example.io_greetings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := testenv.Object(t, string(content))
	if err := clnt.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clnt.Delete(context.WithoutCancel(t.Context()), definition); err != nil {
			t.Error(err)
		}
	})
	list := definition.DeepCopy()
	list.SetAPIVersion("hello.example.io/v1")
	list.SetKind("Greeting")
	testenv.Eventually(t, func() (bool, string) {
		err := clnt.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "none"}, list)
		return client.IgnoreNotFound(err) == nil, "the type is not served"
	})
}

// startOperator runs the operator until the test ends.
func startOperator(t *testing.T) {
	t.Helper()
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// awaitMessage waits until the greeting is ready, and its ConfigMap says the message.
func awaitMessage(t *testing.T, clnt client.Client, key client.ObjectKey, message string) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		greeting, configMap := &Greeting{}, &corev1.ConfigMap{}
		if err := clnt.Get(t.Context(), key, greeting); err != nil {
			return false, err.Error()
		}
		if !greeting.Status.IsReady() || greeting.Status.ObservedGeneration != greeting.Generation {
			_, _, message := greeting.Status.GetState()
			return false, "the greeting is not ready: " + message
		}
		if err := clnt.Get(t.Context(), key, configMap); err != nil {
			return false, err.Error()
		}
		return configMap.Data["greeting"] == message, "the ConfigMap says: " + configMap.Data["greeting"]
	})
}
