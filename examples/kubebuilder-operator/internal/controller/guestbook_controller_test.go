// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/examples/kubebuilder-operator/api/v1alpha1"
	"github.com/component-operator/runtime/examples/kubebuilder-operator/internal/controller"
	"github.com/component-operator/runtime/pkg/operatortest"
)

// setup is what cmd/main.go does with a manager.
func setup(mgr ctrl.Manager) error {
	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	return (&controller.GuestbookReconciler{}).SetupWithManager(mgr)
}

// TestGuestbook runs the controller with the rights of config/rbac, until the sample is ready, changed, and deleted.
func TestGuestbook(t *testing.T) {
	t.Parallel()
	cluster := operatortest.Start(t, operatortest.Options{Setup: setup, Chart: chart(t)})
	sample := operatortest.File(t, "../../config/samples/webapp_v1alpha1_guestbook.yaml")[0]
	cluster.Apply(t, sample)
	cluster.WaitReady(t, sample)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: sample.GetName()}}
	cluster.Get(t, deployment)
	if got := *deployment.Spec.Replicas; got != 2 {
		t.Errorf("want 2 replicas, got %d", got)
	}
	cluster.Tamper(t, deployment, func() { *deployment.Spec.Replicas = 5 })
	cluster.Eventually(t, func() error {
		cluster.Get(t, deployment)
		if got := *deployment.Spec.Replicas; got != 2 {
			return fmt.Errorf("want the change of another client to be corrected, got %d replicas", got)
		}
		return nil
	})
	cluster.Delete(t, sample)
	cluster.WaitGone(t, sample)
	if denied := cluster.Rights().Denied; len(denied) > 0 {
		t.Errorf("config/rbac lacks rights: %v", denied)
	}
}

// chart makes a chart of config, as the test kit expects one.
func chart(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: config\nversion: 1.0.0\n",
		"templates/crd.yaml": read(t, "crd/bases/webapp.example.io_guestbooks.yaml"),
	}
	for _, name := range []string{"role.yaml", "role_binding.yaml", "service_account.yaml"} {
		// Kustomize would replace the namespace, too.
		files["templates/"+name] = strings.ReplaceAll(read(t, "rbac/"+name), "namespace: system", "namespace: {{ .Release.Namespace }}")
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../config", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
