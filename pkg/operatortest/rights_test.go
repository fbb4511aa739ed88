// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/operatortest"
	"github.com/component-operator/runtime/pkg/types"
)

// widget is a component.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            component.Status `json:"status,omitempty"`
}

func (*widget) GetSpec() types.Unstructurable  { return types.UnstructurableMap{} }
func (w *widget) GetStatus() *component.Status { return &w.Status }
func (w *widget) DeepCopyObject() runtime.Object {
	copied := &widget{TypeMeta: w.TypeMeta, ObjectMeta: *w.ObjectMeta.DeepCopy()}
	w.Status.DeepCopyInto(&copied.Status)
	return copied
}

type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []widget `json:"items"`
}

func (l *widgetList) DeepCopyObject() runtime.Object {
	copied := &widgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*widget)) //nolint:forcetypeassert // it is of that type
	}
	return copied
}

// generateJob returns a Job that does not end, and whose outcome matters.
func generateJob(_ context.Context, _, name string, _ types.Unstructurable) ([]client.Object, error) {
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"widgets.limited.example.org/" + types.AnnotationKeySuffixPurgeOrder: "1"}},
	}
	job.Spec.Suspend = new(true)
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}}}
	return []client.Object{job}, nil
}

// TestOperatorThatMayNotDelete checks what is denied, and that nothing is left after the test although the operator
// could not delete it.
func TestOperatorThatMayNotDelete(t *testing.T) {
	t.Parallel()
	var namespace string
	messages := record(t, func(tb testing.TB) {
		tb.Helper()
		cluster := operatortest.Start(tb, operatortest.Options{
			Chart: "testdata/limited",
			Setup: func(mgr ctrl.Manager) error {
				gv := schema.GroupVersion{Group: "limited.example.org", Version: "v1"}
				mgr.GetScheme().AddKnownTypeWithName(gv.WithKind("Widget"), &widget{})
				mgr.GetScheme().AddKnownTypeWithName(gv.WithKind("WidgetList"), &widgetList{})
				metav1.AddToGroupVersion(mgr.GetScheme(), gv)
				return component.NewReconciler[*widget]("widgets.limited.example.org", generator.Func(generateJob), component.ReconcilerOptions{}).SetupWithManager(mgr)
			},
		})
		namespace = cluster.Namespace()
		held := &widget{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
		cluster.Apply(tb, held)
		cluster.WaitFor(tb, held, "the Job exists", func(status *component.Status) bool {
			return len(status.Inventory) == 1 && status.Inventory[0].UID != ""
		})
		cluster.Delete(tb, held)
		cluster.Eventually(tb, func() error {
			if denied := cluster.Rights().Denied; !slices.Equal(denied, []string{"delete jobs.batch"}) {
				return fmt.Errorf("denied: %v", denied)
			}
			return nil
		})
	})
	clnt := testenv.Client(t)
	testenv.Eventually(t, func() (bool, string) {
		job, name := &batchv1.Job{}, client.ObjectKey{Namespace: namespace, Name: "held"}
		err := clnt.Get(t.Context(), name, job)
		return apierrors.IsNotFound(err), fmt.Sprintf("the Job: %v; %s", err, messages)
	})
}
