// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operatortest"
)

// life is a bookshop in a cluster.
type life struct {
	*operatortest.Cluster

	t    *testing.T
	shop *Bookshop
}

// TestLife leads a bookshop through two versions, three features, a suspension and its deletion.
func TestLife(t *testing.T) {
	t.Parallel()
	l := life{
		Cluster: operatortest.Start(t, operatortest.Options{Definitions: "crds", Setup: setup}), t: t,
		shop: &Bookshop{ObjectMeta: metav1.ObjectMeta{Name: "corner"}, Spec: BookshopSpec{Version: "1.4.2", Replicas: 2, Cache: true}},
	}
	l.Apply(t, l.shop)
	l.waitFor("False Blocked", `Deployment `+l.Namespace()+`/corner: held back: waiting for data "address"`)
	if err := l.Client().Get(t.Context(), l.key(), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment must wait for the address: %v", err)
	}

	l.announce("shop.example.org")
	l.waitFor("True Healthy", "")
	l.runs("2 web example.io/bookshop:1.4.2 [--store=/var/lib/bookshop] ADDRESS=shop.example.org")

	l.shop.Spec.Version, l.shop.Spec.Tracing = "2.0.0", "traces.example.org"
	l.Apply(t, l.shop)
	l.WaitReady(t, l.shop)
	l.runs("2 web example.io/bookshop:2.0.0 [--search] ADDRESS=shop.example.org TRACES_TO=traces.example.org; cache example.io/cache:1 [] TRACES_TO=traces.example.org")

	l.announce("books.example.org")
	l.WaitFor(t, l.shop, "the web servers know the new address", func(*component.Status) bool { return strings.Contains(l.web(), "ADDRESS=books.example.org") })
	l.WaitReady(t, l.shop)

	l.shop.Spec.Presence = component.PresenceSuspended
	l.Apply(t, l.shop)
	l.waitFor("True Suspended", "")
	if web := l.web(); !strings.HasPrefix(web, "0 web example.io/bookshop:2.0.0 [--search] ADDRESS=books.example.org") {
		t.Errorf("unexpected suspended form: %s", web)
	}
	l.shop.Spec.Presence, l.shop.Spec.Cache, l.shop.Spec.Tracing = component.PresenceActive, false, ""
	l.Apply(t, l.shop)
	l.WaitReady(t, l.shop)
	l.runs("2 web example.io/bookshop:2.0.0 [--search] ADDRESS=books.example.org")

	l.Delete(t, l.shop)
	l.WaitGone(t, l.shop)
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		if err := l.Client().Get(t.Context(), l.key(), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T is not gone: %v", object, err)
		}
	}
}

func (l life) key() client.ObjectKey {
	return client.ObjectKey{Namespace: l.Namespace(), Name: "corner"}
}

// announce does what a cloud controller does: it gives the Service an address.
func (l life) announce(host string) {
	l.t.Helper()
	frontend := &corev1.Service{}
	if err := l.Client().Get(l.t.Context(), l.key(), frontend); err != nil {
		l.t.Fatal(err)
	}
	frontend.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	if err := l.Client().Status().Update(l.t.Context(), frontend); err != nil {
		l.t.Fatal(err)
	}
}

// waitFor waits until the condition Available, and the message of Ready, are as wanted.
func (l life) waitFor(available, message string) {
	l.t.Helper()
	l.WaitFor(l.t, l.shop, available+" "+message, func(status *component.Status) bool {
		_, _, got := status.GetState()
		for _, condition := range status.Conditions {
			if condition.Type == "Available" {
				return fmt.Sprintf("%s %s", condition.Status, condition.Reason) == available && strings.Contains(got, message)
			}
		}
		return false
	})
}

// runs compares what the web servers run.
func (l life) runs(want string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.web()); diff != "" {
		l.t.Errorf("(-want +got):\n%s", diff)
	}
}

// web describes the Deployment: replicas; name, image, arguments and variables of each container.
func (l life) web() string {
	web := &appsv1.Deployment{}
	if err := l.Client().Get(l.t.Context(), l.key(), web); err != nil {
		return err.Error()
	}
	text := fmt.Sprint(*web.Spec.Replicas)
	for i, container := range web.Spec.Template.Spec.Containers {
		if i > 0 {
			text += ";"
		}
		text += fmt.Sprintf(" %s %s %v", container.Name, container.Image, container.Args)
		for _, variable := range container.Env {
			text += " " + variable.Name + "=" + variable.Value
		}
	}
	return text
}
