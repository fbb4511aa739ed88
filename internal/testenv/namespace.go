// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The longest part of a namespace's name that comes from the name of the test: the rest of the 63 characters that a
// name may have is left to what tests derive from it.
const maxTestName = 30

// Namespace creates a namespace for this test, ready for pods, and returns its name. When the test ends, the deletion
// of the namespace is requested, but not awaited.
func Namespace(tb testing.TB) string {
	tb.Helper()
	c := Client(tb)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: UniqueName(tb)}}
	if err := c.Create(tb.Context(), namespace); err != nil {
		tb.Fatalf("creating the test's namespace: %v", err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		if err := c.Delete(context.WithoutCancel(tb.Context()), namespace); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			tb.Errorf("deleting the test's namespace: %v", err)
		}
	})
	// Pods are refused until the namespace has its service account.
	key := client.ObjectKey{Namespace: namespace.Name, Name: "default"}
	Eventually(tb, func() (bool, string) {
		err := c.Get(tb.Context(), key, &corev1.ServiceAccount{})
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	return namespace.Name
}

// UniqueName returns a name that no other test uses, valid for objects of any kind, with at most 36 characters: the
// last words of the test's name and some random characters. It is meant for objects without a namespace.
func UniqueName(tb testing.TB) string {
	tb.Helper()
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, strings.TrimPrefix(tb.Name(), "Test"))
	name = strings.TrimLeft(name[max(0, len(name)-maxTestName):], "-0123456789")
	if name == "" {
		name = "test"
	}
	return strings.TrimRight(name, "-") + "-" + rand.String(5)
}
